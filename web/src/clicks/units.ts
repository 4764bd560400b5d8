/** The units of time of the chart and the table, with the ranges that each of them offers. */
import { addDays, lastDays, type DayRange } from '../shared/days.ts';
import type { Stat } from './api.ts';
import { addMonths, mondayBefore, monthOf, weekOf } from './calendar.ts';

/** The units, the shortest first. */
export const UNITS = ['hour', 'day', 'week', 'month'] as const;
export type Unit = (typeof UNITS)[number];

/** What the chart and the table show. */
export interface View {
  readonly unit: Unit;
  /** UTC days. With `hour`, it is one day. */
  readonly range: DayRange;
  /** Only the clicks of this target, for which the API has days only; `null` for all clicks. */
  readonly target: string | null;
}

/**
 * The presets of each unit: so many days, weeks or months until today. Those of the hours are one
 * day each: 1 is today and 2 is yesterday.
 */
export const PRESETS: Readonly<Record<Unit, readonly number[]>> = {
  hour: [1, 2],
  day: [7, 30, 90],
  week: [12, 26, 52],
  month: [6, 12],
};

/** The preset with which each unit begins. */
export const PRESET_DEFAULT: Readonly<Record<Unit, number>> = { hour: 1, day: 30, week: 12, month: 12 };

/** The days of a preset. */
export function presetRange(unit: Unit, preset: number, today: string): DayRange {
  switch (unit) {
    case 'hour': {
      const day = addDays(today, 1 - preset);
      return { from: day, to: day };
    }
    case 'day':
      return lastDays(today, preset);
    case 'week':
      return { from: addDays(mondayBefore(today), 7 * (1 - preset)), to: today };
    case 'month':
      return { from: `${addMonths(monthOf(today), 1 - preset)}-01`, to: today };
  }
}

/** The range in the periods in which the API takes it: days, also for hours; weeks; months. */
export function periodRange(unit: Unit, range: DayRange): DayRange {
  const period = { hour: String, day: String, week: weekOf, month: monthOf }[unit];
  return { from: period(range.from), to: period(range.to) };
}

/** Whether two views show the same. */
export function isSameView(a: View, b: View): boolean {
  return a.unit === b.unit && a.target === b.target && a.range.from === b.range.from && a.range.to === b.range.to;
}

/**
 * The number of hours that have begun, or of all other periods. The API has all 24 hours of today;
 * without this, the chart and the table would show zeros for hours to come.
 */
export function begunCount(unit: Unit, stats: readonly Stat[], nowHour: string): number {
  if (unit !== 'hour') return stats.length;
  // A click may be a few minutes ahead of this clock, so that an hour with clicks has begun.
  return stats.findLastIndex((stat) => stat.totalClicks > 0 || stat.period <= nowHour) + 1;
}
