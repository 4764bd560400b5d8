/** Which time the chart of prices shows: days of the reader's own calendar. */
import { lastDays, localDay, parseDays, type DayRange, type DaysFault } from '../shared/days.ts';
import type { Span } from './steps.ts';

/** The ready-made ranges in days; `all` is everything there is. */
export const PRESETS = [30, 90, 365, 'all'] as const;
export type Preset = (typeof PRESETS)[number];

/** The days of a ready-made range that ends today; `null` for everything. */
export function presetDays(preset: Preset, nowMs: number): DayRange | null {
  return preset === 'all' ? null : lastDays(localDay(nowMs), preset);
}

/** The days between two inputs. The future holds no prices yet. */
export function parseSpan(from: string, to: string, nowMs: number): DayRange | DaysFault | 'future' {
  const range = parseDays(from, to);
  return typeof range !== 'string' && range.from > localDay(nowMs) ? 'future' : range;
}

/** From the first moment of the first day to the end of the last, or to now. */
export function spanOf(range: DayRange | null, nowMs: number): Span {
  if (range === null) return { fromMs: null, toMs: nowMs, isOpen: true };
  const endMs = midnight(range.to, 1);
  return { fromMs: midnight(range.from, 0), toMs: Math.min(endMs, nowMs), isOpen: endMs > nowMs };
}

/** The reader's midnight at which the day begins that lies `days` after `day`: not 24 hours later when the clocks change. */
function midnight(day: string, days: number): number {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date + days).getTime();
}
