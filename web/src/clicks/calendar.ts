/** UTC months (`YYYY-MM`), and ranges of UTC days within the API's limits. */
import { dayCount, parseDays, type DayRange, type DaysFault } from '../shared/days.ts';

/** The longest range that the API accepts (`RANGE_DAYS_MAX` of the domain crate). */
export const RANGE_DAYS_MAX = 400;

/** The least number of months in the chart by month. */
export const CHART_MONTHS_MIN = 12;

/** The presets, in days. They end today. */
export const PRESETS_DAYS = [7, 30, 90] as const;

/** Why two date inputs are not a valid range. */
export type RangeFault = DaysFault | 'tooLong';

/** The month of a day. */
export function monthOf(day: string): string {
  return day.slice(0, 7);
}

/** Adds months to a month; `months` may be negative. */
export function addMonths(month: string, months: number): string {
  const date = new Date(`${month}-01T00:00:00Z`);
  date.setUTCMonth(date.getUTCMonth() + months);
  return date.toISOString().slice(0, 7);
}

/** Parses two date inputs with the same rules as the API. */
export function parseRange(from: string, to: string): DayRange | RangeFault {
  const range = parseDays(from, to);
  return typeof range !== 'string' && dayCount(range) > RANGE_DAYS_MAX ? 'tooLong' : range;
}

/**
 * The months to show for a range of days: all months of the range, and at least {@link
 * CHART_MONTHS_MIN} up to its end.
 */
export function monthsBeside(range: DayRange): DayRange {
  const to = monthOf(range.to);
  const first = addMonths(to, 1 - CHART_MONTHS_MIN);
  const touched = monthOf(range.from);
  return { from: touched < first ? touched : first, to };
}
