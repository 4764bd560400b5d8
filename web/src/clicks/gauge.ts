/**
 * The scale of the gauge: converts clicks to a height. There is space below for the water and above
 * for the number.
 */

/** The height of 0 clicks, in percent of the gauge, so that some water is always visible. */
const ZERO_PERCENT = 16;

/** The height between 0 and the top of the scale, in percent of the gauge. */
const SPAN_PERCENT = 46;

/** The lowest top of the scale, so that the first clicks do not fill the gauge. */
const TOP_CLICKS_MIN = 10;

/** The factor between the highest value and the top of the scale. */
const HEADROOM = 1.12;

/** A linear scale. */
export interface GaugeScale {
  /** The number of clicks at the top. */
  readonly top: number;
  /** The height in percent of the gauge, from the bottom. */
  readonly heightPercent: (clicks: number) => number;
}

/** The scale for at most `highest` clicks. */
export function gaugeScale(highest: number): GaugeScale {
  const top = Math.max(highest, TOP_CLICKS_MIN) * HEADROOM;
  return { top, heightPercent: (clicks) => ZERO_PERCENT + (SPAN_PERCENT * clicks) / top };
}

/** The ticks from 0 to at most `top`: 3 to 6 numbers, in steps of 1, 2 or 5 times a power of 10. */
export function gaugeTicks(top: number): readonly number[] {
  const rough = top / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power);
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => i * step);
}
