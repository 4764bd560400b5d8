/** The requests of the clicks page. */
import { bearer, query, requestFile, requestJson, requestPage } from '../shared/api.ts';
import type { Item, JsonObject, Page, Schema } from '../shared/api.ts';
import type { DayRange } from '../shared/days.ts';
import { periodRange, type Unit, type View } from './units.ts';

/**
 * Clicks and unique visitors of one hour (`YYYY-MM-DDTHH`), day (`YYYY-MM-DD`), ISO week
 * (`YYYY-Www`) or month (`YYYY-MM`).
 */
export type Stat = Omit<Schema<'Day'>, 'date'> & { readonly period: string };

/** Clicks and unique visitors of one target. */
export type TargetStat = Item<'Targets'>;

/** One stored click. */
export type StoredClick = Item<'ClickPage'>;

/** A click to send. `key` is the idempotency key: a UUIDv7 that contains the time of the click. */
export type NewClick = Pick<Schema<'NewClick'>, 'userId' | 'target'> & {
  readonly key: string;
  readonly clickCount: number;
};

/** Clicks per page in the operator's lists. */
const PAGE_CLICKS = 25;
/** The most targets of a day that the API lists. */
const TARGETS_MAX = 100;

/** The path of each unit, and the member with the period in its rows. */
const SERIES = {
  hour: { path: '/stats/hourly', period: 'hour' },
  day: { path: '/stats/daily', period: 'date' },
  week: { path: '/stats/weekly', period: 'week' },
  month: { path: '/stats/monthly', period: 'month' },
} as const satisfies Record<Unit, unknown>;

/** `POST /clicks`. */
export async function postClick(click: NewClick): Promise<void> {
  await requestJson('/clicks', {
    method: 'POST',
    headers: { 'idempotency-key': click.key },
    // JSON leaves out a target that is undefined.
    body: { userId: click.userId, clickCount: click.clickCount, target: click.target },
  });
}

/** `GET /stats/total`. */
export async function getTotal(signal: AbortSignal): Promise<number> {
  return (await requestJson<Schema<'Total'>>('/stats/total', { signal })).totalClicks;
}

/** `GET /stats/visitors`: the visitors of all time, with the clicks among which they were counted. */
export async function getVisitors(signal: AbortSignal): Promise<Schema<'AllTimeVisitors'>> {
  return requestJson<Schema<'AllTimeVisitors'>>('/stats/visitors', { signal });
}

/** `GET /stats/daily/{date}`. */
export async function getDay(day: string, signal: AbortSignal): Promise<Stat> {
  return stat('day')(await requestJson<Schema<'Day'>>(`/stats/daily/${day}`, { signal }));
}

/** `GET /stats/monthly/{month}`. */
export async function getMonth(month: string, signal: AbortSignal): Promise<Stat> {
  return stat('month')(await requestJson<Schema<'Month'>>(`/stats/monthly/${month}`, { signal }));
}

/** `GET /stats/daily`: oldest first, days without clicks included. */
export function getDays(range: DayRange, signal: AbortSignal): Promise<readonly Stat[]> {
  return getSeries({ unit: 'day', range, target: null }, signal);
}

/** `GET /stats/hourly`, `/daily`, `/weekly` or `/monthly`: oldest first, without gaps. */
export async function getSeries(view: View, signal: AbortSignal): Promise<readonly Stat[]> {
  return (await requestPage<Counts>(seriesPath(view), { signal })).items.map(stat(view.unit));
}

/** The same as {@link getSeries} as CSV. */
export async function getSeriesCsv(view: View): Promise<Blob> {
  return (await requestFile(seriesPath(view), 'text/csv')).content;
}

/** `GET /stats/targets`: the targets of a day, most clicks first. */
export async function getTargets(day: string, signal: AbortSignal): Promise<readonly TargetStat[]> {
  return (await requestPage<TargetStat>(targetsPath(day), { signal })).items;
}

/** The same as {@link getTargets} as CSV, for several days: each row begins with its day. */
export async function getTargetsCsv(days: readonly string[]): Promise<Blob> {
  const rows = ['date,target,totalClicks,uniqueUsers\r\n'];
  for (const day of days) {
    const lines = (await (await requestFile(targetsPath(day), 'text/csv')).content.text()).split('\r\n');
    rows.push(...lines.slice(1, -1).map((line) => `${day},${line}\r\n`));
  }
  return new Blob(rows, { type: 'text/csv' });
}

/** `GET /days/{date}/clicks`. Requires the operator token. */
export function getDayClicks(token: string, day: string, cursor: string | null): Promise<Page<StoredClick>> {
  const path = `/days/${encodeURIComponent(day)}/clicks${query({ limit: PAGE_CLICKS, cursor })}`;
  return requestPage(path, { headers: bearer(token) });
}

/** `GET /users/{userId}/clicks`, newest first. Requires the operator token. */
export function getUserClicks(
  token: string,
  userId: string,
  range: DayRange,
  cursor: string | null,
): Promise<Page<StoredClick>> {
  const asked = query({ ...range, order: 'desc', limit: PAGE_CLICKS, cursor });
  return requestPage(`/users/${encodeURIComponent(userId)}/clicks${asked}`, { headers: bearer(token) });
}

function seriesPath({ unit, range, target }: View): string {
  return SERIES[unit].path + query({ ...periodRange(unit, range), target });
}

function targetsPath(day: string): string {
  return `/stats/targets${query({ date: day, limit: TARGETS_MAX })}`;
}

type Counts = Omit<Stat, 'period'>;

/** Gives the period of a row one name for all units. */
function stat(unit: Unit): (row: Counts) => Stat {
  return ({ totalClicks, uniqueUsers, ...row }) => {
    const period = String((row as JsonObject)[SERIES[unit].period]);
    return { period, totalClicks, uniqueUsers };
  };
}
