/** The requests of the medication log. */
import { ApiError, isObject, requestDone, requestFile, requestJson, type JsonObject } from '../shared/api.ts';
import { count, optionalCount, optionalText, page, text, type Page } from '../shared/decode.ts';

/** Where the API is. Questions and writes are named by what follows. */
export const API = '/okusuri/api/';

/** The person who is signed in. */
export interface User {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  /** IANA */
  readonly timeZone: string;
}

/** What is noted of a day. */
export interface Log {
  /** `YYYY-MM-DD`, of the person's own calendar. */
  readonly date: string;
  readonly hasBleeding: boolean;
  /** Whether the medicine was taken; without it the day is no logged one for the streak. */
  readonly isTaken: boolean;
  readonly note: string | null;
}

/** How the course stands. */
export interface Status {
  /** The day that it is of. */
  readonly today: string;
  readonly streak: number;
  readonly bestStreak: number;
  readonly consecutiveBleedingDays: number;
  readonly isResting: boolean;
  /** Today's included. */
  readonly restDaysLeft: number;
}

/** What a day of the calendar is. `none` lies before the first log, or is today and still open. */
export type DayState = 'taken' | 'bleeding' | 'rest' | 'missed' | 'future' | 'none';

/** A day of the calendar. */
export interface Day {
  readonly date: string;
  readonly state: DayState;
  readonly log: Log | null;
}

/** What became of a dose. */
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
  /** A moment (RFC 3339). */
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

/** What a form says of a medicine. */
export type MedicineDraft = Omit<Medicine, 'id'>;

/** Taken of due, over some days. */
export interface Adherence {
  readonly taken: number;
  readonly due: number;
}

/** A device that is signed in. */
export interface Session {
  readonly id: string;
  readonly isCurrent: boolean;
  readonly createdAt: string;
  readonly userAgent: string | null;
  readonly ipAddress: string | null;
}

/** A way to sign in, beside the e-mail. */
export interface Provider {
  readonly id: string;
  readonly name: string;
}

/** The reminder's settings. */
export interface Reminder {
  readonly isEnabled: boolean;
  /** `HH:MM` in the person's zone. */
  readonly time: string;
}

/** What came of one row of an import. */
export interface ImportRow {
  /** As in the file; the heading is 1. */
  readonly line: number;
  readonly date: string | null;
  /** `created`, `replaced`, `unchanged`, or the problem that kept it out. */
  readonly result: string;
  readonly isRefused: boolean;
}

/** Reads the person who is signed in. */
export const decodeUser = (body: JsonObject): User => ({
  id: text(body, 'id'),
  name: optionalText(body, 'name'),
  email: optionalText(body, 'email'),
  timeZone: text(body, 'timeZone'),
});

/** Reads a log. */
export const decodeLog = (body: JsonObject): Log => ({
  date: text(body, 'date'),
  hasBleeding: body['hasBleeding'] === true,
  // Answers that were kept before there was such a member are of days with the medicine.
  isTaken: body['isTaken'] !== false,
  note: optionalText(body, 'note'),
});

/** Reads how the course stands. */
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

/** Reads the days of a month. */
export const decodeMonth = (body: JsonObject): readonly Day[] =>
  (Array.isArray(body['days']) ? body['days'] : []).filter(isObject).map((day) => {
    const state = text(day, 'state');
    return {
      date: text(day, 'date'),
      state: DAY_STATES.includes(state) ? (state as DayState) : 'none',
      log: isObject(day['log']) ? decodeLog({ date: day['date'], ...day['log'] }) : null,
    };
  });

/** Reads the doses of a day. */
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

/** Reads the medicines. */
export const decodeMedicines = (body: JsonObject): readonly Medicine[] =>
  page(body, (item) => ({
    id: text(item, 'id'),
    name: text(item, 'name'),
    dose: optionalText(item, 'dose') ?? '',
    times: Array.isArray(item['times']) ? item['times'].filter((time) => typeof time === 'string') : [],
    from: text(item, 'from'),
    until: optionalText(item, 'until'),
  })).items;

/** Reads taken of due. */
export const decodeAdherence = (body: JsonObject): Adherence => ({
  taken: count(body, 'taken'),
  due: count(body, 'due'),
});

/** Reads the reminder's settings. */
export const decodeReminder = (body: JsonObject): Reminder => ({
  isEnabled: body['isEnabled'] === true,
  time: text(body, 'time'),
});

/** Asks anything; the answer is read by who asked. */
export function ask(question: string, signal?: AbortSignal): Promise<JsonObject> {
  return requestJson(API + question, signal ? { signal } : {});
}

/** Writes anything, with an answer that need not be read. */
export async function put(path: string, body: unknown): Promise<void> {
  await requestDone(API + path, { method: 'PUT', body });
}

/** Removes anything. The server takes a change only as JSON, which no form of a foreign page can send. */
export async function remove(path: string): Promise<void> {
  await requestDone(API + path, { method: 'DELETE', body: {} });
}

/** Does anything that is neither. */
export async function post(path: string, body: unknown): Promise<void> {
  await requestDone(API + path, { method: 'POST', body });
}

/** `GET logs`, newest first. */
export async function getLogs(cursor: string | null): Promise<Page<Log>> {
  const query = new URLSearchParams({ limit: '50', ...(cursor === null ? {} : { cursor }) });
  return page(await ask(`logs?${query}`), decodeLog);
}

/** Where one goes to sign in at a provider, which leads back to `returnTo`. */
export function signInAt(provider: string, returnTo: string): string {
  return departure(provider, { returnTo, timeZone: zoneHere() });
}

/** Where one goes to add a login at a provider to who is signed in. */
export function linkAt(provider: string, returnTo: string): string {
  return departure(provider, { returnTo, link: '1' });
}

function departure(provider: string, query: Readonly<Record<string, string>>): string {
  return `${API}sign-in/oauth/${encodeURIComponent(provider)}?${new URLSearchParams(query)}`;
}

/** The browser's time zone: a new user's days go by it. */
export function zoneHere(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** `POST sign-in/email/verify`: signs in. */
export async function verifyCode(email: string, code: string, locale: string): Promise<User> {
  const body = { email, code, timeZone: zoneHere(), locale };
  const answer = await requestJson(`${API}sign-in/email/verify`, { method: 'POST', body });
  return decodeUser(answer);
}

/** The ways to sign in, beside the e-mail. */
export async function getProviders(): Promise<readonly Provider[]> {
  return page(await ask('sign-in/providers'), (item) => ({ id: text(item, 'id'), name: text(item, 'name') })).items;
}

/** The devices that are signed in. */
export async function getSessions(): Promise<readonly Session[]> {
  return page(await ask('sessions'), (item) => ({
    id: text(item, 'id'),
    isCurrent: item['isThis'] === true,
    createdAt: text(item, 'createdAt'),
    userAgent: optionalText(item, 'userAgent'),
    ipAddress: optionalText(item, 'ipAddress'),
  })).items;
}

/** The providers that this person can sign in with. */
export async function getAccounts(): Promise<readonly string[]> {
  return page(await ask('me/accounts'), (item) => text(item, 'provider')).items;
}

/** Something of this person that the health administration has read. */
export interface Reading {
  at: string;
  /** `user`, or the type of the items. */
  kind: string;
  reason: string;
}

/** What the health administration has read of this person, newest first. */
export async function getReadings(): Promise<readonly Reading[]> {
  return page(await ask('me/accesses'), (item) => ({
    at: text(item, 'at'),
    kind: text(item, 'kind'),
    reason: text(item, 'reason'),
  })).items;
}

/** Adds a medicine, or changes the one of that id. */
export function saveMedicine(id: string | null, draft: MedicineDraft): Promise<void> {
  const { until, ...rest } = draft;
  const body = { ...rest, ...(until === null ? {} : { until }) };
  return id === null ? post('medicines', body) : put(`medicines/${encodeURIComponent(id)}`, body);
}

/** Items of a page of an export, the most that the server gives, and pages: beyond them something is wrong. */
const EXPORT_PAGE_ITEMS = 1_000;
const EXPORT_PAGES_MAX = 1_000;

/** Everything there is of a person, as one JSON file; `progress` hears how many things have come. */
export async function exportJson(progress: (items: number) => void): Promise<Blob> {
  const items: unknown[] = [];
  await throughExport({}, async (query) => {
    const body = await ask(`export?${query}`);
    if (Array.isArray(body['items'])) items.push(...(body['items'] as unknown[]));
    progress(items.length);
    return optionalText(body, 'cursor');
  });
  return new Blob([JSON.stringify({ items }, null, 2)], { type: 'application/json' });
}

/** Logs or doses as CSV. */
export async function exportCsv(of: 'logs' | 'doses'): Promise<Blob> {
  const parts: Blob[] = [];
  await throughExport({ format: 'csv', of }, async (query) => {
    const { content, cursor } = await requestFile(`${API}export?${query}`, 'text/csv');
    parts.push(content);
    return cursor;
  });
  return new Blob(parts, { type: 'text/csv' });
}

/** Reads page after page; `read` gives the next one's cursor. */
async function throughExport(
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

/** Rounds of a deletion: each takes the server some seconds, and many years of logs are one or two. */
const DELETE_ROUNDS_MAX = 100;

/** `DELETE me`: everything, in as many rounds as the server needs. */
export async function deleteEverything(): Promise<void> {
  for (let rounds = 0; rounds < DELETE_ROUNDS_MAX; rounds++) {
    const status = await requestDone(`${API}me`, { method: 'DELETE', body: {} });
    // 202: it is to be asked for again.
    if (status !== 202) return;
  }
  throw new ApiError(null);
}

/** Brings in logs; a dry run changes nothing and says what would come of it. */
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
