/** Days (`YYYY-MM-DD`) of the calendar and ranges of them. */

/** From the first to the last day, both included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** Why two inputs do not make a range. */
export type DaysFault = 'incomplete' | 'upsideDown';

const DAY_MS = 86_400_000;

/** The UTC day of an epoch time in milliseconds. */
export function dayOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

/** The reader's day of an epoch time. */
export function localDay(epochMs: number): string {
  const date = new Date(epochMs);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The day that lies `days` after `day`, or before it. */
export function addDays(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * DAY_MS);
}

/** The last `days` days, today included. */
export function lastDays(today: string, days: number): DayRange {
  return { from: addDays(today, 1 - days), to: today };
}

/** How many days a range has. */
export function dayCount(range: DayRange): number {
  return Math.round((Date.parse(range.to) - Date.parse(range.from)) / DAY_MS) + 1;
}

/** Whether a text is a day that exists. */
export function isDay(text: string): boolean {
  const epochMs = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN;
  // The parser may roll 31 February over to March; a day that exists survives the way back.
  return !Number.isNaN(epochMs) && dayOf(epochMs) === text;
}

/** Checks two date inputs; an input that holds no existing date is empty text. */
export function parseDays(from: string, to: string): DayRange | DaysFault {
  if (!isDay(from) || !isDay(to)) return 'incomplete';
  return from > to ? 'upsideDown' : { from, to };
}
