/**
 * Days of the reader's time zone, added up from UTC hours. That is exact for clicks, and only while
 * the zone is a whole number of hours from UTC. Unique visitors of hours cannot be added up.
 */
import { addDays, dayOf, type DayRange } from '../shared/days.ts';
import { getSeries, type Stat } from './api.ts';

const HOUR_MS = 3_600_000;
/** The most days of hours in one response. */
const DAYS_AT_ONCE = 31;

/** The clicks of a local day. */
export type LocalDay = Pick<Stat, 'period' | 'totalClicks'>;

/** How far a zone is ahead of UTC at a moment, in milliseconds. */
function aheadMs(zone: string, epochMs: number): number {
  const named = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(epochMs);
  const offset = named.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = /GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?/.exec(offset) ?? [];
  return (sign === '-' ? -1_000 : 1_000) * (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds));
}

/** The local day of a moment. */
export function localDayOf(zone: string, epochMs: number): string {
  return dayOf(epochMs + aheadMs(zone, epochMs));
}

/** Whether each local day of a range is made of whole UTC hours. */
export function isExactIn(zone: string, { from, to }: DayRange): boolean {
  for (let day = addDays(from, -1); day <= addDays(to, 1); day = addDays(day, 1)) {
    if (aheadMs(zone, Date.parse(day)) % HOUR_MS !== 0) return false;
  }
  return true;
}

/** The local days of a range, from hours that begin at least a day before it and end a day after. */
export function addUp(zone: string, { from, to }: DayRange, hours: readonly Stat[]): readonly LocalDay[] {
  const clicks = new Map<string, number>();
  for (let day = from; day <= to; day = addDays(day, 1)) clicks.set(day, 0);
  for (const { period, totalClicks } of hours) {
    const day = localDayOf(zone, Date.parse(`${period}:00:00Z`));
    const before = clicks.get(day);
    if (before !== undefined) clicks.set(day, before + totalClicks);
  }
  return [...clicks].map(([period, totalClicks]) => ({ period, totalClicks }));
}

/** Reads the local days of a range. */
export async function getLocalDays(zone: string, range: DayRange, signal: AbortSignal): Promise<readonly LocalDay[]> {
  const last = addDays(range.to, 1);
  const reads: Promise<readonly Stat[]>[] = [];
  for (let from = addDays(range.from, -1); from <= last; from = addDays(from, DAYS_AT_ONCE)) {
    const end = addDays(from, DAYS_AT_ONCE - 1);
    const part = { from, to: end < last ? end : last };
    reads.push(getSeries({ unit: 'hour', range: part, target: null }, signal));
  }
  return addUp(zone, range, (await Promise.all(reads)).flat());
}
