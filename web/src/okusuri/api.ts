/** The HTTP requests of the medication log. */
import { ApiError, query, requestDone, requestFile, requestJson, requestPage } from '../shared/api.ts';
import type { Item, Page, Schema } from '../shared/api.ts';

/** The root of the API. Paths in this module are relative to it. */
export const API = '/okusuri/api/';

/** The signed-in user. */
export type User = Schema<'Me'>;
/** The log entry of a day: what a write contains. */
export type Log = Pick<Schema<'MedicationLog'>, 'date' | 'hasBleeding' | 'isTaken' | 'note' | 'flow' | 'symptoms'>;
/** The state of streak, bleeding and rest. */
export type Status = Omit<Schema<'Standing'>, 'loggedToday' | 'lastLogOn'>;
/** The state of a day. `unknown`: this page has not read it. */
export type DayState = Schema<'Calendar'>['days'][number]['state'] | 'unknown';
/** A day of the calendar. */
export interface Day {
  readonly date: string;
  readonly state: DayState;
  readonly log?: Log;
}
/** One time of one medicine on one day. */
export type Dose = Item<'Doses'>;
/** A medicine with its times. */
export type Medicine = Item<'Medicines'>;
/** A signed-in device. */
export type Session = Item<'SignedInDevices'>;
/** An identity provider to sign in with. */
export type Provider = Item<'Providers'>;
/** The result for one row of an import: a `result`, or the `problem` of a row that is left out. */
export type ImportRow = Item<'Imported'>;
/** One access to this user's data by the health administration. */
export type AccessRecord = Item<'Accesses'>;

/** `GET` of a path. */
export function get<T extends object>(path: string): Promise<T> {
  return requestJson(API + path);
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

/** The path of a page of the log, newest first. */
export const logsPath = (cursor: string | null): string => `logs${query({ limit: 50, cursor })}`;

/** `GET logs`, newest first. */
export function getLogs(cursor: string | null): Promise<Page<Log>> {
  return requestPage(API + logsPath(cursor));
}

/** The URL that starts a sign-in at a provider, which then returns to `returnTo`. */
export function signInUrl(provider: string, returnTo: string): string {
  return oauthUrl(provider, { returnTo, timeZone: browserTimeZone() });
}

/** The URL that links a provider's account to the signed-in user. */
export function linkUrl(provider: string, returnTo: string): string {
  return oauthUrl(provider, { returnTo, link: '1' });
}

function oauthUrl(provider: string, parameters: Readonly<Record<string, string>>): string {
  return `${API}sign-in/oauth/${encodeURIComponent(provider)}${query(parameters)}`;
}

/** The browser's time zone. It becomes the time zone of a new user. */
export function browserTimeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** `POST sign-in/email/verify`: signs in with a code. */
export function verifyCode(email: string, code: string, locale: string): Promise<User> {
  const body: Schema<'VerifyCode'> = { email, code, timeZone: browserTimeZone(), locale };
  return requestJson(`${API}sign-in/email/verify`, { method: 'POST', body });
}

/** The configured identity providers. */
export async function getProviders(): Promise<readonly Provider[]> {
  return (await requestPage<Provider>(`${API}sign-in/providers`)).items;
}

/** The signed-in devices. */
export async function getSessions(): Promise<readonly Session[]> {
  return (await requestPage<Session>(`${API}sessions`)).items;
}

/** The ids of the providers linked to this user. */
export async function getAccounts(): Promise<readonly string[]> {
  return (await requestPage<Item<'Accounts'>>(`${API}me/accounts`)).items.map(({ provider }) => provider);
}

/** All accesses by the health administration, newest first. */
export async function getAccessLog(): Promise<readonly AccessRecord[]> {
  return (await requestPage<AccessRecord>(`${API}me/accesses`)).items;
}

/** Creates a medicine, or changes the one with that id. */
export function saveMedicine(id: string | null, draft: Schema<'NewMedicine'>): Promise<void> {
  const { until, stock, ...rest } = draft;
  // A medicine without an end has no `until`, as in the server's answers.
  const body = { ...rest, ...(until ? { until } : {}), ...(stock ? { stock } : {}) };
  return id === null ? post('medicines', body) : put(`medicines/${encodeURIComponent(id)}`, body);
}

/** Adds a new pack to the stock of a medicine. Its number makes a repeated request add nothing. */
export function addPack({ id, stock }: Medicine): Promise<void> {
  return put(`medicines/${encodeURIComponent(id)}/packs/${(stock?.packs ?? 0) + 1}`, {});
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
  await forEachExportPage({}, async (path) => {
    const page = await requestPage<unknown>(path);
    items.push(...page.items);
    progress(items.length);
    return page.cursor ?? null;
  });
  return new Blob([JSON.stringify({ items }, null, 2)], { type: 'application/json' });
}

/** Exports logs or doses as CSV. */
export async function exportCsv(of: 'logs' | 'doses'): Promise<Blob> {
  const parts: Blob[] = [];
  await forEachExportPage({ format: 'csv', of }, async (path) => {
    const { content, cursor } = await requestFile(path, 'text/csv');
    parts.push(content);
    return cursor;
  });
  return new Blob(parts, { type: 'text/csv' });
}

/** Reads all pages of an export. `read` returns the cursor of the next page. */
async function forEachExportPage(
  of: Readonly<Record<string, string>>,
  read: (path: string) => Promise<string | null>,
): Promise<void> {
  let cursor: string | null = null;
  for (let pages = 0; pages < EXPORT_PAGES_MAX; pages++) {
    cursor = await read(`${API}export${query({ ...of, limit: EXPORT_PAGE_ITEMS, cursor })}`);
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
  const answer = await requestPage<ImportRow>(`${API}import${isDryRun ? '?dryRun=1' : ''}`, {
    method: 'POST',
    headers: { 'content-type': 'text/csv' },
    content: csv,
  });
  return answer.items;
}
