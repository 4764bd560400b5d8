/**
 * The requests of the clicks page. The members of responses have the names of the table's
 * attributes.
 */
import { requestFile, requestJson, type ApiRequest, type JsonObject } from '../shared/api.ts';
import { count, optionalCount, page, text, type Page } from '../shared/decode.ts';
import type { DayRange } from '../shared/days.ts';

/** Clicks and unique visitors of one day (`YYYY-MM-DD`) or one month (`YYYY-MM`). */
export interface Stat {
  readonly period: string;
  readonly totalClicks: number;
  readonly uniqueUsers: number;
}

/** One stored click. `createDateTime` is ISO 8601 in UTC, with milliseconds. */
export interface StoredClick {
  readonly userId: string;
  readonly createDateTime: string;
  /** `null` when another client stored a value that is not a number. */
  readonly clickCount: number | null;
}

/** A click to send. `key` is the idempotency key: a UUIDv7 that contains the time of the click. */
export interface NewClick {
  readonly key: string;
  readonly userId: string;
  readonly clickCount: number;
}

/** Clicks per page in the operator's lists. */
const PAGE_CLICKS = 25;

/** `POST /clicks`. */
export async function postClick(click: NewClick): Promise<void> {
  await requestJson('/clicks', {
    method: 'POST',
    headers: { 'idempotency-key': click.key },
    body: { userId: click.userId, clickCount: click.clickCount },
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
export async function getDays(range: DayRange, signal: AbortSignal): Promise<readonly Stat[]> {
  return page(await requestJson(rangePath('/stats/daily', range), { signal }), (item) => stat(item, 'date')).items;
}

/** `GET /stats/monthly`: like {@link getDays}; `range` contains months. */
export async function getMonths(range: DayRange, signal: AbortSignal): Promise<readonly Stat[]> {
  return page(await requestJson(rangePath('/stats/monthly', range), { signal }), (item) => stat(item, 'month')).items;
}

/** `GET /stats/daily` as CSV. */
export async function getDaysCsv(range: DayRange): Promise<Blob> {
  return (await requestFile(rangePath('/stats/daily', range), 'text/csv')).content;
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
  }));
}

function rangePath(path: string, range: DayRange): string {
  return `${path}?${new URLSearchParams({ from: range.from, to: range.to })}`;
}

function stat(body: JsonObject, period: 'date' | 'month'): Stat {
  return {
    period: text(body, period),
    totalClicks: count(body, 'totalClicks'),
    uniqueUsers: count(body, 'uniqueUsers'),
  };
}
