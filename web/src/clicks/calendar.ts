/** UTC months (`YYYY-MM`), and ranges of UTC days under the API's own limits. */
import { dayCount, parseDays, type DayRange, type DaysFault } from '../shared/days.ts';

/** The longest range of days that the API answers (`RANGE_DAYS_MAX` of the domain). */
export const RANGE_DAYS_MAX = 400;

/** The months that the chart of months always has, however short the range of days is. */
export const CHART_MONTHS_MIN = 12;

/** The ready-made ranges: this many days, ending today. */
export const PRESETS_DAYS = [7, 30, 90] as const;

/** Why two inputs do not make a range. */
export type RangeFault = DaysFault | 'tooLong';

/** The month of a day. */
export function monthOf(day: string): string {
  return day.slice(0, 7);
}

/** The month that lies `months` after `month`, or before it. */
export function addMonths(month: string, months: number): string {
  const date = new Date(`${month}-01T00:00:00Z`);
  date.setUTCMonth(date.getUTCMonth() + months);
  return date.toISOString().slice(0, 7);
}

/** Checks two date inputs as the API would. */
export function parseRange(from: string, to: string): DayRange | RangeFault {
  const range = parseDays(from, to);
  return typeof range !== 'string' && dayCount(range) > RANGE_DAYS_MAX ? 'tooLong' : range;
}

/** The months to draw beside a range of days: all that it touches, and at least {@link CHART_MONTHS_MIN} up to its end. */
export function monthsBeside(range: DayRange): DayRange {
  const to = monthOf(range.to);
  const first = addMonths(to, 1 - CHART_MONTHS_MIN);
  const touched = monthOf(range.from);
  return { from: touched < first ? touched : first, to };
}
