/** The scale of the tide gauge: clicks to height, with room below for the water and above for the number. */

/** Height of zero clicks, in percent of the gauge: some water always stands. */
const ZERO_PERCENT = 16;

/** Height between zero and the top of the scale, in percent of the gauge. */
const SPAN_PERCENT = 46;

/** The scale never ends below this, so that the first clicks already move the water, but not to the brim. */
const TOP_CLICKS_MIN = 10;

/** Room above the highest value. */
const HEADROOM = 1.12;

/** A linear scale. */
export interface GaugeScale {
  /** The number of clicks at the top. */
  readonly top: number;
  /** Percent of the gauge's height, from below. */
  readonly heightPercent: (clicks: number) => number;
}

/** The scale that has room for `highest` clicks. */
export function gaugeScale(highest: number): GaugeScale {
  const top = Math.max(highest, TOP_CLICKS_MIN) * HEADROOM;
  return { top, heightPercent: (clicks) => ZERO_PERCENT + (SPAN_PERCENT * clicks) / top };
}

/** Round numbers from zero to at most `top`: 3 to 6 of them, in steps of 1, 2 or 5 times a power of ten. */
export function gaugeTicks(top: number): readonly number[] {
  const rough = top / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power);
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => i * step);
}
