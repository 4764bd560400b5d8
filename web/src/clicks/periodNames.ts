/** The names of hours, days, weeks and months in a language. */
import {
  formatDay,
  formatDayShort,
  formatHour,
  formatHourShort,
  formatMonth,
  formatMonthShort,
} from '../shared/format.ts';
import { daysOfWeek } from './calendar.ts';
import type { Unit } from './units.ts';
import type { Words } from './words.ts';

/** The short name of a period, for the axis. */
export function shortName(unit: Unit, t: Words, locale: string, period: string): string {
  switch (unit) {
    case 'hour':
      return formatHourShort(locale, period);
    case 'day':
      return formatDayShort(locale, period);
    case 'week':
      return t.weekShort(weekNumber(period));
    case 'month':
      return formatMonthShort(locale, period);
  }
}

/** The full name of a period, for the table and the tooltip. */
export function fullName(unit: Unit, t: Words, locale: string, period: string): string {
  switch (unit) {
    case 'hour':
      return formatHour(locale, period);
    case 'day':
      return formatDay(locale, period);
    case 'week': {
      const { from, to } = daysOfWeek(period);
      const [first, last] = [formatDayShort(locale, from), formatDayShort(locale, to)];
      return t.week(period.slice(0, 4), weekNumber(period), first, last);
    }
    case 'month':
      return formatMonth(locale, period);
  }
}

/** `40`, for a week like `2025-W40` */
function weekNumber(week: string): number {
  return Number(week.slice(6));
}
