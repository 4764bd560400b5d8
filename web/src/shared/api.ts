/** The client of the HTTP API: same origin, JSON, and RFC 9457 problem details for errors. */
import { observeServerDate } from './clock.ts';
import type { components } from '../../.types/openapi.d.ts';

/**
 * A request is aborted after this time. API Gateway itself allows 29 s, which is too long for a
 * reader to wait.
 */
const REQUEST_TIMEOUT_MS = 10_000;

/** The RFC 9457 problem details that a page shows. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string | null;
  /**
   * All members of the response, including those that a problem type adds, such as `stock` of
   * `insufficient-stock`.
   */
  readonly members: JsonObject;
}

/** A request failed. */
export class ApiError extends Error {
  /** `problem` is `null` when there was no response: no network, no server, or a timeout. */
  constructor(readonly problem: Problem | null) {
    super(problem?.title ?? 'no answer');
  }

  /** Whether a retry may succeed: there was no response, or its status is 429 or 5xx. */
  get isTransient(): boolean {
    return this.problem === null || this.problem.status === 429 || this.problem.status >= 500;
  }
}

/**
 * Turns any error of a request into an {@link ApiError}. Other errors mean that there was no HTTP
 * response.
 */
export function asApiError(failure: unknown): ApiError {
  return failure instanceof ApiError ? failure : new ApiError(null);
}

/** The options of a request. */
export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent unchanged instead of `body`; `headers` must contain its content type. */
  readonly content?: string;
  readonly signal?: AbortSignal;
  /** For a request that takes longer than others. */
  readonly timeoutMs?: number;
}

/** A JSON object as received. The caller checks its members. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * A schema of `docs/openapi.yaml`. Tests compare the server's answers with that document, so the
 * pages do not check each member again.
 */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

/** One page of a list. The last page has no cursor. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor?: string;
  /** The number of rows that the server left out because it could not read them. */
  readonly skipped?: number;
}

/** An item of a list schema. */
export type Item<Name extends keyof components['schemas']> = Schema<Name> extends Page<infer T> ? T : never;

/**
 * Sends a request and returns the JSON response. Fails with {@link ApiError}, or with `AbortError`
 * when aborted. An answer of another server, such as a proxy's HTML page, fails too.
 */
export async function requestJson<T extends object = JsonObject>(path: string, request: ApiRequest = {}): Promise<T> {
  const response = await send(path, 'application/json', request);
  const body: unknown = await response.json().catch(() => null);
  if (!isObject(body)) throw new ApiError(unexpectedAnswer(response.status));
  return body as T;
}

/** Sends a request and returns one page of a list. Fails like {@link requestJson}. */
export async function requestPage<T>(path: string, request: ApiRequest = {}): Promise<Page<T>> {
  const body = await requestJson<Page<T>>(path, request);
  if (!Array.isArray(body.items)) throw new ApiError(unexpectedAnswer(200));
  return body;
}

/** Parameters as a query. Those that are `null` or missing are left out. */
export function query(parameters: Readonly<Record<string, string | number | null | undefined>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value != null);
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** The headers of a request with an access token. */
export function bearer(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` };
}

/** Sends a request and returns only the status of the response. Fails like {@link requestJson}. */
export async function requestDone(path: string, request: ApiRequest): Promise<number> {
  return (await send(path, 'application/json', request)).status;
}

/** A file, or a page of one. */
export interface FilePage {
  readonly content: Blob;
  /** The cursor of the next page; `null` on the last page. */
  readonly cursor: string | null;
}

/** Sends a request and returns the response as a file. Fails like {@link requestJson}. */
export async function requestFile(path: string, accept: string, request: ApiRequest = {}): Promise<FilePage> {
  const response = await send(path, accept, request);
  const content = await response.blob().catch(() => {
    throw new ApiError(null);
  });
  return { content, cursor: response.headers.get('x-next-cursor') };
}

/** The problem of a response that does not have the members that the API documents. */
export function unexpectedAnswer(status: number): Problem {
  return {
    type: 'about:blank',
    title: 'The server gave an answer that this page does not understand',
    status,
    detail: null,
    members: {},
  };
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function send(path: string, accept: string, request: ApiRequest): Promise<Response> {
  const timeout = AbortSignal.timeout(request.timeoutMs ?? REQUEST_TIMEOUT_MS);
  const init: RequestInit = {
    method: request.method ?? 'GET',
    headers: {
      accept,
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    },
    signal: request.signal ? AbortSignal.any([request.signal, timeout]) : timeout,
    // Statistics change every second, so that a cached response would be wrong.
    cache: 'no-store',
    // Lets a change finish when the reader leaves the page. Not for files: browsers refuse
    // keepalive bodies over 64 KiB.
    keepalive: request.method !== undefined && request.method !== 'GET' && request.content === undefined,
  };
  if (request.body !== undefined) init.body = JSON.stringify(request.body);
  else if (request.content !== undefined) init.body = request.content;
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw new ApiError(null);
  }
  observeServerDate(response.headers.get('date'), Date.now());
  if (!response.ok) throw new ApiError(await readProblem(response));
  return response;
}

/**
 * Reads problem details. API Gateway's `{"message": ...}` and other bodies become a problem with
 * the status. `null` for a proxy's page that says that the server is not there.
 */
async function readProblem(response: Response): Promise<Problem | null> {
  const body: unknown = await response.json().catch(() => null);
  if (response.status >= 502 && !isObject(body)) return null;
  const members = isObject(body) ? body : {};
  const text = (name: string): string | null => (typeof members[name] === 'string' ? members[name] : null);
  return {
    type: text('type') ?? 'about:blank',
    title: text('title') ?? text('message') ?? `HTTP ${response.status}`,
    status: response.status,
    detail: text('detail'),
    members,
  };
}
