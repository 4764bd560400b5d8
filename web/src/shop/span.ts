/** The time span of the price chart, in days of the reader's time zone. */
import { lastDays, localDay, parseDays, type DayRange, type DaysFault } from '../shared/days.ts';
import type { Span } from './steps.ts';

/** The presets, in days; `all` is the whole history. */
export const PRESETS = [30, 90, 365, 'all'] as const;
export type Preset = (typeof PRESETS)[number];

/** The days of a preset, which ends today; `null` for the whole history. */
export function presetDays(preset: Preset, nowMs: number): DayRange | null {
  return preset === 'all' ? null : lastDays(localDay(nowMs), preset);
}

/** Parses two date inputs. A range that begins in the future is rejected. */
export function parseSpan(from: string, to: string, nowMs: number): DayRange | DaysFault | 'future' {
  const range = parseDays(from, to);
  return typeof range !== 'string' && range.from > localDay(nowMs) ? 'future' : range;
}

/** The span from the start of the first day to the end of the last day, or to now. */
export function spanOf(range: DayRange | null, nowMs: number): Span {
  if (range === null) return { fromMs: null, toMs: nowMs, isOpen: true };
  const endMs = midnight(range.to, 1);
  return { fromMs: midnight(range.from, 0), toMs: Math.min(endMs, nowMs), isOpen: endMs > nowMs };
}

/**
 * The start of a day in the reader's time zone, `days` after `day`. Days have 23 or 25 hours when
 * the clocks change.
 */
function midnight(day: string, days: number): number {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date + days).getTime();
}
