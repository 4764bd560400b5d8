/** Calendar days (`YYYY-MM-DD`) and ranges of days. */

/** A range of days, both ends included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** Why two date inputs are not a valid range. */
export type DaysFault = 'incomplete' | 'reversed';

const DAY_MS = 86_400_000;

/** The UTC day of an epoch time in milliseconds. */
export function dayOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

/** The day of an epoch time in the reader's time zone. */
export function localDay(epochMs: number): string {
  const date = new Date(epochMs);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Adds days to a day; `days` may be negative. */
export function addDays(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * DAY_MS);
}

/** The last `days` days, today included. */
export function lastDays(today: string, days: number): DayRange {
  return { from: addDays(today, 1 - days), to: today };
}

/** The number of days in a range. */
export function dayCount(range: DayRange): number {
  return Math.round((Date.parse(range.to) - Date.parse(range.from)) / DAY_MS) + 1;
}

/** Whether a text is an existing day. */
export function isDay(text: string): boolean {
  const epochMs = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN;
  // The parser may turn 31 February into a day in March; only an existing day formats back to the
  // same text.
  return !Number.isNaN(epochMs) && dayOf(epochMs) === text;
}

/** Parses two date inputs. A date input without a valid date has an empty value. */
export function parseDays(from: string, to: string): DayRange | DaysFault {
  if (!isDay(from) || !isDay(to)) return 'incomplete';
  return from > to ? 'reversed' : { from, to };
}
