/** UTC days (`YYYY-MM-DD`) and months (`YYYY-MM`), and ranges of days under the API's own limits. */

/** The longest range of days that the API answers (`RANGE_DAYS_MAX` of the domain). */
export const RANGE_DAYS_MAX = 400;

/** The months that the chart of months always has, however short the range of days is. */
export const CHART_MONTHS_MIN = 12;

/** The ready-made ranges: this many days, ending today. */
export const PRESETS_DAYS = [7, 30, 90] as const;

/** From the first to the last day, both included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** Why two inputs do not make a range. */
export type RangeFault = 'incomplete' | 'upsideDown' | 'tooLong';

const DAY_MS = 86_400_000;

/** The UTC day of an epoch time in milliseconds. */
export function dayOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

/** The month of a day. */
export function monthOf(day: string): string {
  return day.slice(0, 7);
}

/** The day that lies `days` after `day`, or before it. */
export function addDays(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * DAY_MS);
}

/** The month that lies `months` after `month`, or before it. */
export function addMonths(month: string, months: number): string {
  const date = new Date(`${month}-01T00:00:00Z`);
  date.setUTCMonth(date.getUTCMonth() + months);
  return date.toISOString().slice(0, 7);
}

/** The last `days` days, today included. */
export function lastDays(today: string, days: number): DayRange {
  return { from: addDays(today, 1 - days), to: today };
}

/** How many days a range has. */
export function dayCount(range: DayRange): number {
  return Math.round((Date.parse(range.to) - Date.parse(range.from)) / DAY_MS) + 1;
}

/** Checks two date inputs as the API would; an input that holds no existing date is empty text. */
export function parseRange(from: string, to: string): DayRange | RangeFault {
  if (!isDay(from) || !isDay(to)) return 'incomplete';
  if (from > to) return 'upsideDown';
  const range = { from, to };
  return dayCount(range) > RANGE_DAYS_MAX ? 'tooLong' : range;
}

/** The months to draw beside a range of days: all that it touches, and at least {@link CHART_MONTHS_MIN} up to its end. */
export function monthsBeside(range: DayRange): DayRange {
  const to = monthOf(range.to);
  const first = addMonths(to, 1 - CHART_MONTHS_MIN);
  const touched = monthOf(range.from);
  return { from: touched < first ? touched : first, to };
}

function isDay(text: string): boolean {
  const epochMs = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN;
  // The parser may roll 31 February over to March; a day that exists survives the way back.
  return !Number.isNaN(epochMs) && dayOf(epochMs) === text;
}
