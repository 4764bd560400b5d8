/** Compares a period with the one before it: what exactly is compared, and the numbers of both. */
import { addDays, dayCount, type DayRange } from '../shared/days.ts';
import { getSeries, type Stat } from './api.ts';
import { addMonthsToDay, mondayBefore, monthOf, RANGE_DAYS_MAX } from './calendar.ts';
import { periodRange, type Unit, type View } from './units.ts';

/** Whole days, or the first `hours` of one day. */
export interface Part extends DayRange {
  readonly hours?: number;
}

/** A number of a period, and the same number of the period before. */
export type Pair = readonly [now: number, before: number];

/** What is compared with what. */
export interface Plan {
  /** The number of days, weeks or months of each period. */
  readonly count: number;
  readonly unit: Exclude<Unit, 'hour'>;
  readonly period: DayRange;
  readonly periodBefore: DayRange;
  /** Whether the period has ended, so that both are compared as a whole. */
  readonly hasEnded: boolean;
  /** The part of the period that has ended; `null` before its first day or hour has. */
  readonly now: Part | null;
  /** The same part of the period before. */
  readonly before: Part | null;
}

/** Both periods with their numbers. */
export interface Comparison extends Plan {
  readonly view: View;
  /** The clicks of both parts; `null` if one of them is not known. */
  readonly clicks: Pair | null;
  /** The unique visitors; only of two single periods that have ended. A part has no such number. */
  readonly visitors: Pair | null;
  /** The whole period before, if it is a single one. */
  readonly whole: Stat | null;
}

/** The comparison of a view; `null` if nothing of its range has begun. */
export function planOf({ unit: asked, range, target }: View, nowHour: string): Plan | null {
  const unit = asked === 'hour' ? 'day' : asked;
  const today = nowHour.slice(0, 10);
  // As the API takes a range: each week and month that it touches, from its first day on.
  const [from, last] = [firstDay(unit, range.from), firstDay(unit, range.to)];
  if (from > today) return null;
  const period = { from, to: addDays(shift(unit, last, 1), -1) };
  const count = unitsBetween(unit, from, last) + 1;
  const periodBefore = { from: shift(unit, from, -count), to: addDays(from, -1) };
  const plan = { count, unit, period, periodBefore };
  if (period.to < today) return { ...plan, hasEnded: true, now: period, before: periodBefore };

  // The API has hours of all clicks, but not of a target.
  const hours = from === period.to && target === null ? Number(nowHour.slice(11)) : 0;
  if (hours > 0) return { ...plan, hasEnded: false, now: { ...period, hours }, before: { ...periodBefore, hours } };
  const yesterday = addDays(today, -1);
  if (yesterday < from) return { ...plan, hasEnded: false, now: null, before: null };
  const same = shift(unit, yesterday, -count);
  return { ...plan, hasEnded: false, now: { from, to: yesterday }, before: { from: periodBefore.from, to: same } };
}

/** A comparison as long as the one of the view will be, which keeps its place on the page. */
export function placeholderOf(view: View, nowHour: string): Comparison | null {
  const plan = planOf(view, nowHour);
  if (plan === null) return null;
  const period = periodRange(plan.unit, plan.periodBefore).from;
  const [isSingle, clicks, visitors] = [plan.count === 1, 1_000, 100];
  return {
    ...plan,
    view,
    clicks: plan.now && [clicks, clicks + 10],
    visitors: isSingle && plan.hasEnded ? [visitors, visitors + 10] : null,
    whole: isSingle ? { period, totalClicks: clicks, uniqueUsers: visitors } : null,
  };
}

/** Reads the numbers of a comparison, with at most five requests. */
export async function compare(view: View, nowHour: string, signal: AbortSignal): Promise<Comparison | null> {
  const plan = planOf(view, nowHour);
  if (plan === null) return null;
  const { unit, count, period, periodBefore, hasEnded, now, before } = plan;
  const both = { from: periodBefore.from, to: period.from };
  const [earlier = null, later = null] = count === 1 ? await complete({ ...view, unit, range: both }, 2, signal) : [];
  const all = { ...plan, view, clicks: null, visitors: null, whole: earlier };
  if (now === null || before === null) return all;
  if (now.hours !== undefined) return { ...all, clicks: await clicksOfHours(both, now.hours, earlier, signal) };
  if (hasEnded && earlier && later) {
    const visitors: Pair = [later.uniqueUsers, earlier.uniqueUsers];
    return { ...all, clicks: [later.totalClicks, earlier.totalClicks], visitors };
  }
  const [a, b] = await Promise.all([now, before].map((part) => clicksOfDays(part, view.target, signal)));
  return { ...all, clicks: a == null || b == null ? null : [a, b] };
}

/** The clicks of the first hours of two days. */
async function clicksOfHours(range: DayRange, hours: number, first: Stat | null, signal: AbortSignal) {
  const rows = await complete({ unit: 'hour', range, target: null }, 48, signal);
  const [before, now] = [rows.slice(0, 24), rows.slice(24)];
  // An owner may have turned off the counting of hours, and a click of another client may have none.
  if (first === null || sum(before) !== first.totalClicks) return null;
  return [sum(now.slice(0, hours)), sum(before.slice(0, hours))] as const;
}

async function clicksOfDays(range: DayRange, target: string | null, signal: AbortSignal): Promise<number | null> {
  let clicks = 0;
  for (let from = range.from; from <= range.to; from = addDays(from, RANGE_DAYS_MAX)) {
    const end = addDays(from, RANGE_DAYS_MAX - 1);
    const days = { from, to: end < range.to ? end : range.to };
    const rows = await complete({ unit: 'day', range: days, target }, dayCount(days), signal);
    if (rows.length === 0) return null;
    clicks += sum(rows);
  }
  return clicks;
}

/** A series; empty if the API had to leave out a row that it could not read. */
async function complete(view: View, rows: number, signal: AbortSignal): Promise<readonly Stat[]> {
  const stats = await getSeries(view, signal);
  return stats.length === rows ? stats : [];
}

function sum(stats: readonly Stat[]): number {
  return stats.reduce((clicks, { totalClicks }) => clicks + totalClicks, 0);
}

function firstDay(unit: Plan['unit'], day: string): string {
  return { day, week: mondayBefore(day), month: `${monthOf(day)}-01` }[unit];
}

function shift(unit: Plan['unit'], day: string, units: number): string {
  return unit === 'month' ? addMonthsToDay(day, units) : addDays(day, units * (unit === 'week' ? 7 : 1));
}

/** The number of days, weeks or months between two first days. */
function unitsBetween(unit: Plan['unit'], from: string, to: string): number {
  if (unit !== 'month') return (dayCount({ from, to }) - 1) / (unit === 'week' ? 7 : 1);
  const months = (day: string): number => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7));
  return months(to) - months(from);
}
