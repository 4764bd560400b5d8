/** UTC hours, ISO weeks and months, and ranges of UTC days within the API's limits. */
import { addDays, dayCount, parseDays, type DayRange, type DaysFault } from '../shared/days.ts';

/** The longest range that the API accepts (`RANGE_DAYS_MAX` of the domain crate). */
export const RANGE_DAYS_MAX = 400;

/** Why two date inputs are not a valid range. */
export type RangeFault = DaysFault | 'tooLong';

/** The UTC hour (`YYYY-MM-DDTHH`) of an epoch time in milliseconds. */
export function hourOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 13);
}

/** The month (`YYYY-MM`) of a day. */
export function monthOf(day: string): string {
  return day.slice(0, 7);
}

/** Adds months to a month; `months` may be negative. */
export function addMonths(month: string, months: number): string {
  const date = new Date(`${month}-01T00:00:00Z`);
  date.setUTCMonth(date.getUTCMonth() + months);
  return date.toISOString().slice(0, 7);
}

/** Adds months to a day. The last day of a shorter month stands for the days that it lacks. */
export function addMonthsToDay(day: string, months: number): string {
  const month = addMonths(monthOf(day), months);
  const last = addDays(`${addMonths(month, 1)}-01`, -1);
  const same = month + day.slice(7);
  return same < last ? same : last;
}

/** The Monday of a day's week. */
export function mondayBefore(day: string): string {
  return addDays(day, -weekday(day));
}

/**
 * The ISO 8601 week (`YYYY-Www`) of a day. A week belongs to the year of its Thursday, so that 29
 * December can be in week 1 and 1 January in week 53.
 */
export function weekOf(day: string): string {
  const thursday = addDays(day, 3 - weekday(day));
  const year = thursday.slice(0, 4);
  const week = Math.floor((dayCount({ from: `${year}-01-01`, to: thursday }) - 1) / 7) + 1;
  return `${year}-W${String(week).padStart(2, '0')}`;
}

/** The first and the last day of an ISO week. */
export function daysOfWeek(week: string): DayRange {
  // 4 January is always in week 1.
  const monday = addDays(mondayBefore(`${week.slice(0, 4)}-01-04`), 7 * (Number(week.slice(6)) - 1));
  return { from: monday, to: addDays(monday, 6) };
}

/** Parses two date inputs with the same rules as the API. */
export function parseRange(from: string, to: string): DayRange | RangeFault {
  const range = parseDays(from, to);
  return typeof range !== 'string' && dayCount(range) > RANGE_DAYS_MAX ? 'tooLong' : range;
}

/** 0 for Monday to 6 for Sunday. */
function weekday(day: string): number {
  return (new Date(day).getUTCDay() + 6) % 7;
}
