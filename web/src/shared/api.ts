/**
 * The client of the suite's HTTP API: same origin, JSON, and RFC 9457 problem details for everything that goes wrong.
 */
import { observeServerDate } from './clock.ts';

/** A request that takes longer is given up; API Gateway itself answers within 29 s, but nobody waits that long for a number. */
const REQUEST_TIMEOUT_MS = 10_000;

/** RFC 9457 problem details, as far as a page shows them. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string | null;
  /** All that the answer said, for what a type adds: the stock of `insufficient-stock`, for one. */
  readonly members: JsonObject;
}

/** A request that did not succeed. */
export class ApiError extends Error {
  /** `problem` is `null` when no answer came: no network, no server, or too slow. */
  constructor(readonly problem: Problem | null) {
    super(problem?.title ?? 'no answer');
  }

  /** Whether the same request may succeed later: no answer, told to slow down, or the server's own trouble. */
  get isTransient(): boolean {
    return this.problem === null || this.problem.status === 429 || this.problem.status >= 500;
  }
}

/** Whatever a request failed with, as an {@link ApiError}: what is none came from below HTTP. */
export function asApiError(failure: unknown): ApiError {
  return failure instanceof ApiError ? failure : new ApiError(null);
}

/** What a request may say beyond its path. */
export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, in the body's place; `headers` name its type. */
  readonly content?: string;
  readonly signal?: AbortSignal;
}

/** A JSON answer as received: known to be an object, its members still to be checked by who asked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Sends a request and gives its JSON answer. Fails with {@link ApiError}; an aborted request fails with an `AbortError`. */
export async function requestJson(path: string, request: ApiRequest = {}): Promise<JsonObject> {
  const response = await send(path, 'application/json', request);
  const body: unknown = await response.json().catch(() => null);
  if (!isObject(body)) throw new ApiError(unexpectedAnswer(response.status));
  return body;
}

/** Sends a request whose answer says nothing beyond its status, which it gives. Fails as {@link requestJson} does. */
export async function requestDone(path: string, request: ApiRequest): Promise<number> {
  return (await send(path, 'application/json', request)).status;
}

/** A file, or a page of one. */
export interface FilePage {
  readonly content: Blob;
  /** Where the next page begins; `null` on the last. */
  readonly cursor: string | null;
}

/** Sends a request and gives its answer as a file. Fails as {@link requestJson} does. */
export async function requestFile(path: string, accept: string, request: ApiRequest = {}): Promise<FilePage> {
  const response = await send(path, accept, request);
  const content = await response.blob().catch(() => {
    throw new ApiError(null);
  });
  return { content, cursor: response.headers.get('x-next-cursor') };
}

/** The error to raise when an answer's members are not what the API promises. */
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
  const timeout = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const init: RequestInit = {
    method: request.method ?? 'GET',
    headers: {
      accept,
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    },
    signal: request.signal ? AbortSignal.any([request.signal, timeout]) : timeout,
    // Statistics change by the second; a stored answer would be a wrong one.
    cache: 'no-store',
    // What was sent is finished even when the page is left. Not a file: of that kind, browsers refuse more than 64 KiB.
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

/** Reads problem details; a gateway's own `{"message": ...}` or anything else becomes the nearest problem. */
async function readProblem(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => null);
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
