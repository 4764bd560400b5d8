/** The HTTP requests of the medication log. */
import { ApiError, isObject, requestDone, requestFile, requestJson, type JsonObject } from '../shared/api.ts';
import { count, optionalCount, optionalText, page, text, type Page } from '../shared/decode.ts';

/** The root of the API. Paths in this module are relative to it. */
export const API = '/okusuri/api/';

/** The signed-in user. */
export interface User {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  /** IANA name. */
  readonly timeZone: string;
}

/** The log entry of a day. */
export interface Log {
  /** `YYYY-MM-DD` in the user's calendar. */
  readonly date: string;
  readonly hasBleeding: boolean;
  /** Whether the medicine was taken. Otherwise the day does not count for the streak. */
  readonly isTaken: boolean;
  readonly note: string | null;
}

/** The state of streak, bleeding and rest. */
export interface Status {
  /** The day to which the status applies. */
  readonly today: string;
  readonly streak: number;
  readonly bestStreak: number;
  readonly consecutiveBleedingDays: number;
  readonly isResting: boolean;
  /** Including today. */
  readonly restDaysLeft: number;
}

/** The state of a day. `none`: before the first entry, or today without an entry. */
export type DayState = 'taken' | 'bleeding' | 'rest' | 'missed' | 'future' | 'none';

/** A day of the calendar. */
export interface Day {
  readonly date: string;
  readonly state: DayState;
  readonly log: Log | null;
}

/** The state of a dose. */
export type DoseState = 'due' | 'taken' | 'skipped' | 'snoozed' | 'missed';

/** One time of one medicine on one day. */
export interface Dose {
  readonly date: string;
  /** `HH:MM` */
  readonly time: string;
  readonly medicineId: string;
  readonly name: string;
  readonly dose: string;
  readonly state: DoseState;
  /** RFC 3339. */
  readonly snoozedUntil: string | null;
}

/** A medicine with its times. */
export interface Medicine {
  readonly id: string;
  readonly name: string;
  readonly dose: string;
  readonly times: readonly string[];
  readonly from: string;
  readonly until: string | null;
}

/** A medicine as a form edits it. */
export type MedicineDraft = Omit<Medicine, 'id'>;

/** Doses and days taken, of those due. */
export interface Adherence {
  readonly taken: number;
  readonly due: number;
}

/** A signed-in device. */
export interface Session {
  readonly id: string;
  readonly isCurrent: boolean;
  readonly createdAt: string;
  readonly userAgent: string | null;
  readonly ipAddress: string | null;
}

/** An identity provider to sign in with. */
export interface Provider {
  readonly id: string;
  readonly name: string;
}

/** The reminder's settings. */
export interface Reminder {
  readonly isEnabled: boolean;
  /** `HH:MM` in the user's time zone. */
  readonly time: string;
}

/** The result for one row of an import. */
export interface ImportRow {
  /** The line in the file. The header is line 1. */
  readonly line: number;
  readonly date: string | null;
  /** `created`, `replaced`, `unchanged`, or the type of the problem. */
  readonly result: string;
  readonly isRefused: boolean;
}

/** Decodes the signed-in user. */
export const decodeUser = (body: JsonObject): User => ({
  id: text(body, 'id'),
  name: optionalText(body, 'name'),
  email: optionalText(body, 'email'),
  timeZone: text(body, 'timeZone'),
});

/** Decodes a log entry. */
export const decodeLog = (body: JsonObject): Log => ({
  date: text(body, 'date'),
  hasBleeding: body['hasBleeding'] === true,
  // Responses cached before this member existed have none; in them every entry is a day with the
  // medicine.
  isTaken: body['isTaken'] !== false,
  note: optionalText(body, 'note'),
});

/** Decodes the status. */
export const decodeStatus = (body: JsonObject): Status => ({
  today: text(body, 'today'),
  streak: count(body, 'streak'),
  bestStreak: count(body, 'bestStreak'),
  consecutiveBleedingDays: count(body, 'consecutiveBleedingDays'),
  isResting: body['isResting'] === true,
  restDaysLeft: optionalCount(body, 'restDaysLeft') ?? 0,
});

const DAY_STATES: readonly string[] = ['taken', 'bleeding', 'rest', 'missed', 'future', 'none'] satisfies DayState[];
const DOSE_STATES: readonly string[] = ['due', 'taken', 'skipped', 'snoozed', 'missed'] satisfies DoseState[];

/** Decodes the days of a month. */
export const decodeMonth = (body: JsonObject): readonly Day[] =>
  (Array.isArray(body['days']) ? body['days'] : []).filter(isObject).map((day) => {
    const state = text(day, 'state');
    return {
      date: text(day, 'date'),
      state: DAY_STATES.includes(state) ? (state as DayState) : 'none',
      log: isObject(day['log']) ? decodeLog({ date: day['date'], ...day['log'] }) : null,
    };
  });

/** Decodes the doses of a day. */
export const decodeDoses = (body: JsonObject): readonly Dose[] =>
  page(body, (item) => {
    const state = (optionalText(item, 'state') ?? 'due').toLowerCase();
    return {
      date: text(item, 'date'),
      time: text(item, 'time'),
      medicineId: text(item, 'medicineId'),
      name: text(item, 'name'),
      dose: optionalText(item, 'dose') ?? '',
      state: DOSE_STATES.includes(state) ? (state as DoseState) : 'due',
      snoozedUntil: optionalText(item, 'snoozedUntil'),
    };
  }).items;

/** Decodes the list of medicines. */
export const decodeMedicines = (body: JsonObject): readonly Medicine[] =>
  page(body, (item) => ({
    id: text(item, 'id'),
    name: text(item, 'name'),
    dose: optionalText(item, 'dose') ?? '',
    times: Array.isArray(item['times']) ? item['times'].filter((time) => typeof time === 'string') : [],
    from: text(item, 'from'),
    until: optionalText(item, 'until'),
  })).items;

/** Decodes the adherence. */
export const decodeAdherence = (body: JsonObject): Adherence => ({
  taken: count(body, 'taken'),
  due: count(body, 'due'),
});

/** Decodes the reminder's settings. */
export const decodeReminder = (body: JsonObject): Reminder => ({
  isEnabled: body['isEnabled'] === true,
  time: text(body, 'time'),
});

/** `GET` of a path. The caller decodes the response. */
export function get(path: string, signal?: AbortSignal): Promise<JsonObject> {
  return requestJson(API + path, signal ? { signal } : {});
}

/** `PUT` without a response body. */
export async function put(path: string, body: unknown): Promise<void> {
  await requestDone(API + path, { method: 'PUT', body });
}

/**
 * `DELETE`. It sends a JSON body: the server accepts changes only as JSON, which a form on a
 * foreign page cannot send (CSRF).
 */
export async function remove(path: string): Promise<void> {
  await requestDone(API + path, { method: 'DELETE', body: {} });
}

/** `POST` without a response body. */
export async function post(path: string, body: unknown): Promise<void> {
  await requestDone(API + path, { method: 'POST', body });
}

/** `GET logs`, newest first. */
export async function getLogs(cursor: string | null): Promise<Page<Log>> {
  const query = new URLSearchParams({ limit: '50', ...(cursor === null ? {} : { cursor }) });
  return page(await get(`logs?${query}`), decodeLog);
}

/** The URL that starts a sign-in at a provider, which then returns to `returnTo`. */
export function signInUrl(provider: string, returnTo: string): string {
  return oauthUrl(provider, { returnTo, timeZone: browserTimeZone() });
}

/** The URL that links a provider's account to the signed-in user. */
export function linkUrl(provider: string, returnTo: string): string {
  return oauthUrl(provider, { returnTo, link: '1' });
}

function oauthUrl(provider: string, query: Readonly<Record<string, string>>): string {
  return `${API}sign-in/oauth/${encodeURIComponent(provider)}?${new URLSearchParams(query)}`;
}

/** The browser's time zone. It becomes the time zone of a new user. */
export function browserTimeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** `POST sign-in/email/verify`: signs in with a code. */
export async function verifyCode(email: string, code: string, locale: string): Promise<User> {
  const body = { email, code, timeZone: browserTimeZone(), locale };
  const answer = await requestJson(`${API}sign-in/email/verify`, { method: 'POST', body });
  return decodeUser(answer);
}

/** The configured identity providers. */
export async function getProviders(): Promise<readonly Provider[]> {
  return page(await get('sign-in/providers'), (item) => ({ id: text(item, 'id'), name: text(item, 'name') })).items;
}

/** The signed-in devices. */
export async function getSessions(): Promise<readonly Session[]> {
  return page(await get('sessions'), (item) => ({
    id: text(item, 'id'),
    isCurrent: item['isThis'] === true,
    createdAt: text(item, 'createdAt'),
    userAgent: optionalText(item, 'userAgent'),
    ipAddress: optionalText(item, 'ipAddress'),
  })).items;
}

/** The ids of the providers linked to this user. */
export async function getAccounts(): Promise<readonly string[]> {
  return page(await get('me/accounts'), (item) => text(item, 'provider')).items;
}

/** One access to this user's data by the health administration. */
export interface AccessRecord {
  at: string;
  /** `user`, or the type of the items. */
  kind: string;
  reason: string;
}

/** All accesses by the health administration, newest first. */
export async function getAccessLog(): Promise<readonly AccessRecord[]> {
  return page(await get('me/accesses'), (item) => ({
    at: text(item, 'at'),
    kind: text(item, 'kind'),
    reason: text(item, 'reason'),
  })).items;
}

/** Creates a medicine, or changes the one with that id. */
export function saveMedicine(id: string | null, draft: MedicineDraft): Promise<void> {
  const { until, ...rest } = draft;
  const body = { ...rest, ...(until === null ? {} : { until }) };
  return id === null ? post('medicines', body) : put(`medicines/${encodeURIComponent(id)}`, body);
}

/**
 * The largest page of an export that the server allows, and a limit of pages that stops an endless
 * loop.
 */
const EXPORT_PAGE_ITEMS = 1_000;
const EXPORT_PAGES_MAX = 1_000;

/**
 * Exports all data of the user as one JSON file. `progress` is called with the number of items so
 * far.
 */
export async function exportJson(progress: (items: number) => void): Promise<Blob> {
  const items: unknown[] = [];
  await forEachExportPage({}, async (query) => {
    const body = await get(`export?${query}`);
    if (Array.isArray(body['items'])) items.push(...(body['items'] as unknown[]));
    progress(items.length);
    return optionalText(body, 'cursor');
  });
  return new Blob([JSON.stringify({ items }, null, 2)], { type: 'application/json' });
}

/** Exports logs or doses as CSV. */
export async function exportCsv(of: 'logs' | 'doses'): Promise<Blob> {
  const parts: Blob[] = [];
  await forEachExportPage({ format: 'csv', of }, async (query) => {
    const { content, cursor } = await requestFile(`${API}export?${query}`, 'text/csv');
    parts.push(content);
    return cursor;
  });
  return new Blob(parts, { type: 'text/csv' });
}

/** Reads all pages of an export. `read` returns the cursor of the next page. */
async function forEachExportPage(
  of: Readonly<Record<string, string>>,
  read: (query: URLSearchParams) => Promise<string | null>,
): Promise<void> {
  let cursor: string | null = null;
  for (let pages = 0; pages < EXPORT_PAGES_MAX; pages++) {
    const at: Record<string, string> = cursor === null ? {} : { cursor };
    cursor = await read(new URLSearchParams({ ...of, limit: String(EXPORT_PAGE_ITEMS), ...at }));
    if (cursor === null) return;
  }
}

/** Deletion works in rounds of a few seconds. Many years of logs need one or two. */
const DELETE_ROUNDS_MAX = 100;

/** `DELETE me`: deletes the account with all its data, in as many rounds as the server needs. */
export async function deleteEverything(): Promise<void> {
  for (let rounds = 0; rounds < DELETE_ROUNDS_MAX; rounds++) {
    const status = await requestDone(`${API}me`, { method: 'DELETE', body: {} });
    // 202: not finished, ask again.
    if (status !== 202) return;
  }
  throw new ApiError(null);
}

/** Imports logs from CSV. A dry run changes nothing and returns the expected results. */
export async function importCsv(csv: string, isDryRun: boolean): Promise<readonly ImportRow[]> {
  const answer = await requestJson(`${API}import${isDryRun ? '?dryRun=1' : ''}`, {
    method: 'POST',
    headers: { 'content-type': 'text/csv' },
    content: csv,
  });
  return page(answer, (row) => {
    const fault = optionalText(row, 'problem');
    return {
      line: count(row, 'line'),
      date: optionalText(row, 'date'),
      result: fault ?? text(row, 'result'),
      isRefused: fault !== null,
    };
  }).items;
}
