/**
 * The request of the operator's page: the metrics of the local stack in the last 15 minutes. They
 * belong to no deployed API, so `docs/openapi.yaml` does not describe them.
 */
import { isObject, query, requestJson, type ApiError, type JsonObject } from '../shared/api.ts';
import { count, object, optionalText, text } from './decode.ts';

/** The complete response. `iteratorAgeMs` is the current age of the oldest waiting record. */
export type Snapshot = Awaited<ReturnType<typeof getSnapshot>>;
/**
 * A metric over the whole window, with its points, oldest first. A point is a slot of some seconds;
 * slot 0 is the oldest one, and slots without values have no point.
 */
export type Series = ReturnType<typeof series>;
/** Metrics by their CloudWatch names. A metric without values is missing. */
export type Metrics = Readonly<Record<string, Series>>;

/** `GET /_local/metrics`. */
export async function getSnapshot(signal: AbortSignal) {
  const body = await requestJson('/_local/metrics', { signal });
  const binaries = new Map(list(body, 'functions').map((of) => [text(of, 'name'), text(of, 'binary')]));
  return {
    slotSeconds: count(body, 'slotSeconds'),
    slots: count(body, 'slots'),
    api: metrics(object(body, 'api')),
    functions: list(body, 'functions').map((of) => ({
      binary: text(of, 'binary'),
      invocations: count(of, 'invocations'),
      running: count(object(of, 'instances'), 'running'),
      busy: count(object(of, 'instances'), 'busy'),
      lastError: optionalText(of, 'lastError'),
      metrics: metrics(of),
    })),
    mappings: list(body, 'mappings').map((of) => ({
      name: text(of, 'name'),
      binary: binaries.get(text(of, 'function')) ?? text(of, 'function'),
      table: text(of, 'table'),
      iteratorAgeMs: count(of, 'iteratorAgeMs'),
      waitingRecords: count(of, 'waitingRecords'),
      /** When records were found deleted from the stream before they were read. */
      lostAt: optionalText(of, 'lostAt'),
      queue: isObject(of['failureQueue'])
        ? { name: text(of['failureQueue'], 'name'), messages: count(of['failureQueue'], 'messages') }
        : null,
      metrics: metrics(of),
    })),
    tables: list(body, 'tables').map((of) => ({
      table: text(of, 'table'),
      index: optionalText(of, 'index'),
      metrics: metrics(of),
    })),
    waiting: list(body, 'waiting').map((of) => ({
      table: text(of, 'table'),
      name: text(of, 'name'),
      count: count(of, 'count'),
      command: text(of, 'command'),
    })),
  };
}

/** A failed invocation with its event, indented if it is JSON. */
export interface LastFailure {
  readonly functionId: string;
  readonly requestId: string;
  readonly event: string;
}

/** `GET /_local/invocations`: the last failed one of a function; `null` if none is kept. */
export async function getLastFailure(binary: string): Promise<LastFailure | null> {
  try {
    const kept = list(await requestJson(`/_local/invocations${query({ function: binary })}`), 'items');
    const last = kept.find((of) => of['status'] === 'failed');
    if (!last) return null;
    const [functionId, requestId] = [text(last, 'function'), text(last, 'requestId')];
    const whole = await requestJson(`/_local/invocations${query({ function: binary, id: requestId })}`);
    return { functionId, requestId, event: indented(text(whole, 'event')) };
  } catch {
    return null;
  }
}

function indented(event: string): string {
  try {
    return JSON.stringify(JSON.parse(event), null, 2);
  } catch {
    return event;
  }
}

/**
 * Whether the error means that there is no local stack at this address, or that it refuses this
 * client. A retry is useless.
 */
export function hasNoLocalStack(error: ApiError): boolean {
  // For an unknown path, a CDN returns 403, 404, or an HTML page with status 200.
  return error.problem !== null && [200, 403, 404].includes(error.problem.status);
}

function metrics(of: JsonObject): Metrics {
  const entries = Object.entries(object(of, 'metrics'));
  return Object.fromEntries(entries.flatMap(([name, value]) => (isObject(value) ? [[name, series(value)]] : [])));
}

function series(value: JsonObject) {
  return {
    count: count(value, 'count'),
    sum: count(value, 'sum'),
    maximum: count(value, 'maximum'),
    p50: count(value, 'p50'),
    p99: count(value, 'p99'),
    points: list(value, 'points').map((point) => ({
      slot: count(point, 'slot'),
      count: count(point, 'count'),
      sum: count(point, 'sum'),
      maximum: count(point, 'maximum'),
      p99: count(point, 'p99'),
    })),
  };
}

function list(body: JsonObject, name: string): readonly JsonObject[] {
  const value = body[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}
