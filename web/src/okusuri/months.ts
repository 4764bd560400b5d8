/** Calendar arithmetic with months (`YYYY-MM`) and dates without a time zone. */
import { addDays } from '../shared/days.ts';

/** The first day of a week: 0 is Sunday, 1 is Monday. */
export type WeekStart = 0 | 1;

/** The month of a date. */
export function monthOf(day: string): string {
  return day.slice(0, 7);
}

/** The month that is `months` later, or earlier if negative. */
export function addMonths(month: string, months: number): string {
  const [year = 0, of = 1] = month.split('-').map(Number);
  const all = year * 12 + of - 1 + months;
  return `${String(Math.floor(all / 12)).padStart(4, '0')}-${String((all % 12) + 1).padStart(2, '0')}`;
}

/** The number of days in a month. */
export function daysIn(month: string): number {
  return Number(addDays(`${addMonths(month, 1)}-01`, -1).slice(8));
}

/** The column of a date in its week, from 0. */
export function columnOf(day: string, weekStart: WeekStart): number {
  return (new Date(day).getUTCDay() - weekStart + 7) % 7;
}

/** The weeks of a month. `null` for cells outside of the month. */
export function weeksOf(month: string, weekStart: WeekStart): readonly (readonly (string | null)[])[] {
  const first = `${month}-01`;
  const days = daysIn(month);
  const before = columnOf(first, weekStart);
  const weeks = Math.ceil((before + days) / 7);
  return Array.from({ length: weeks }, (_, week) =>
    Array.from({ length: 7 }, (_, column) => {
      const n = week * 7 + column - before;
      return n < 0 || n >= days ? null : addDays(first, n);
    }),
  );
}

/** The same day in another month, or that month's last day. */
export function inMonth(day: string, month: string): string {
  return `${month}-${String(Math.min(Number(day.slice(8)), daysIn(month))).padStart(2, '0')}`;
}

/** The date that a key moves to, as in the ARIA grid pattern. `null` for other keys. */
export function dayByKey(day: string, key: string, weekStart: WeekStart): string | null {
  const column = columnOf(day, weekStart);
  switch (key) {
    case 'ArrowLeft':
      return addDays(day, -1);
    case 'ArrowRight':
      return addDays(day, 1);
    case 'ArrowUp':
      return addDays(day, -7);
    case 'ArrowDown':
      return addDays(day, 7);
    case 'Home':
      return addDays(day, -column);
    case 'End':
      return addDays(day, 6 - column);
    case 'PageUp':
      return inMonth(day, addMonths(monthOf(day), -1));
    case 'PageDown':
      return inMonth(day, addMonths(monthOf(day), 1));
    default:
      return null;
  }
}

/** A format in a time zone; in the browser's own when it does not know that zone. */
export function formatInZone(locale: string, timeZone: string, parts: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat(locale, { timeZone, ...parts });
  } catch {
    return new Intl.DateTimeFormat(locale, parts);
  }
}

/** The date of a moment in a time zone. */
export function dayInZone(epochMs: number, timeZone: string): string {
  const format = formatInZone('en', timeZone, { year: 'numeric', month: '2-digit', day: '2-digit' });
  const of = Object.fromEntries(format.formatToParts(epochMs).map(({ type, value }) => [type, value]));
  return `${of['year']?.padStart(4, '0')}-${of['month']}-${of['day']}`;
}
