/**
 * The requests of the clicks page. The members of responses have the names of the table's
 * attributes.
 */
import { requestFile, requestJson, type ApiRequest, type JsonObject } from '../shared/api.ts';
import { count, optionalCount, optionalText, page, text, type Page } from '../shared/decode.ts';
import type { DayRange } from '../shared/days.ts';
import { periodRange, type Unit, type View } from './units.ts';

/**
 * Clicks and unique visitors of one hour (`YYYY-MM-DDTHH`), day (`YYYY-MM-DD`), ISO week
 * (`YYYY-Www`) or month (`YYYY-MM`).
 */
export interface Stat {
  readonly period: string;
  readonly totalClicks: number;
  readonly uniqueUsers: number;
}

/** Clicks and unique visitors of one target. */
export interface TargetStat {
  readonly target: string;
  readonly totalClicks: number;
  readonly uniqueUsers: number;
}

/** One stored click. `createDateTime` is ISO 8601 in UTC, with milliseconds. */
export interface StoredClick {
  readonly userId: string;
  readonly createDateTime: string;
  /** `null` when another client stored a value that is not a number. */
  readonly clickCount: number | null;
  /** `null` when the click has none. */
  readonly target: string | null;
}

/** A click to send. `key` is the idempotency key: a UUIDv7 that contains the time of the click. */
export interface NewClick {
  readonly key: string;
  readonly userId: string;
  readonly clickCount: number;
  /** Missing in a click that an earlier version of the page has kept. */
  readonly target?: string;
}

/** Clicks per page in the operator's lists. */
const PAGE_CLICKS = 25;

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
  return count(await requestJson('/stats/total', { signal }), 'totalClicks');
}

/** `GET /stats/daily/{date}`. */
export async function getDay(day: string, signal: AbortSignal): Promise<Stat> {
  return stat(await requestJson(`/stats/daily/${day}`, { signal }), 'date');
}

/** `GET /stats/monthly/{month}`. */
export async function getMonth(month: string, signal: AbortSignal): Promise<Stat> {
  return stat(await requestJson(`/stats/monthly/${month}`, { signal }), 'month');
}

/** `GET /stats/daily`: oldest first, days without clicks included. */
export function getDays(range: DayRange, signal: AbortSignal): Promise<readonly Stat[]> {
  return getSeries({ unit: 'day', range, target: null }, signal);
}

/** `GET /stats/hourly`, `/daily`, `/weekly` or `/monthly`: oldest first, without gaps. */
export async function getSeries(view: View, signal: AbortSignal): Promise<readonly Stat[]> {
  const { period } = SERIES[view.unit];
  return page(await requestJson(seriesPath(view), { signal }), (item) => stat(item, period)).items;
}

/** The same as {@link getSeries} as CSV. */
export async function getSeriesCsv(view: View): Promise<Blob> {
  return (await requestFile(seriesPath(view), 'text/csv')).content;
}

/** `GET /stats/targets`: the targets of a day with the most clicks, most first. */
export async function getTargets(day: string, limit: number, signal: AbortSignal): Promise<readonly TargetStat[]> {
  return page(await requestJson(targetsPath(day, limit), { signal }), (item) => ({
    target: text(item, 'target'),
    totalClicks: count(item, 'totalClicks'),
    uniqueUsers: count(item, 'uniqueUsers'),
  })).items;
}

/** The same as {@link getTargets} as CSV. */
export async function getTargetsCsv(day: string, limit: number): Promise<Blob> {
  return (await requestFile(targetsPath(day, limit), 'text/csv')).content;
}

/** `GET /days/{date}/clicks`. Requires the operator token. */
export function getDayClicks(token: string, day: string, cursor: string | null): Promise<Page<StoredClick>> {
  return clickPage(`/days/${encodeURIComponent(day)}/clicks`, {}, token, cursor);
}

/** `GET /users/{userId}/clicks`, newest first. Requires the operator token. */
export function getUserClicks(
  token: string,
  userId: string,
  range: DayRange,
  cursor: string | null,
): Promise<Page<StoredClick>> {
  const query = { from: range.from, to: range.to, order: 'desc' };
  return clickPage(`/users/${encodeURIComponent(userId)}/clicks`, query, token, cursor);
}

async function clickPage(
  path: string,
  query: Record<string, string>,
  token: string,
  cursor: string | null,
): Promise<Page<StoredClick>> {
  const parameters = new URLSearchParams({ ...query, limit: String(PAGE_CLICKS) });
  if (cursor !== null) parameters.set('cursor', cursor);
  const request: ApiRequest = { headers: { authorization: `Bearer ${token}` } };
  const body = await requestJson(`${path}?${parameters}`, request);
  return page(body, (item) => ({
    userId: text(item, 'userId'),
    createDateTime: text(item, 'createDateTime'),
    clickCount: optionalCount(item, 'clickCount'),
    target: optionalText(item, 'target'),
  }));
}

function seriesPath({ unit, range, target }: View): string {
  const query = new URLSearchParams({ ...periodRange(unit, range) });
  if (target !== null) query.set('target', target);
  return `${SERIES[unit].path}?${query}`;
}

function targetsPath(day: string, limit: number): string {
  return `/stats/targets?${new URLSearchParams({ date: day, limit: String(limit) })}`;
}

function stat(body: JsonObject, period: (typeof SERIES)[Unit]['period']): Stat {
  return {
    period: text(body, period),
    totalClicks: count(body, 'totalClicks'),
    uniqueUsers: count(body, 'uniqueUsers'),
  };
}
