/** The request of the operator's page: what the local stack did in the last quarter of an hour. Shapes are checked on arrival. */
import { isObject, requestJson, type ApiError, type JsonObject } from '../shared/api.ts';
import { count, object, optionalText, text } from '../shared/decode.ts';

/** The values of some seconds. */
export interface Point {
  /** 0 for the oldest slot that is kept; the newest goes on now. */
  readonly slot: number;
  readonly count: number;
  readonly sum: number;
  readonly maximum: number;
  readonly p99: number;
}

/** A metric over the whole window. */
export interface Series {
  readonly count: number;
  readonly sum: number;
  readonly maximum: number;
  readonly p50: number;
  readonly p99: number;
  /** Slots with values, oldest first. */
  readonly points: readonly Point[];
}

/** Metrics by CloudWatch's names; what has no values is not there. */
export type Metrics = Readonly<Record<string, Series>>;

/** A function. */
export interface FunctionStats {
  /** The binary's name, which people know it by. */
  readonly binary: string;
  /** Since the stack started. */
  readonly invocations: number;
  readonly running: number;
  readonly busy: number;
  readonly metrics: Metrics;
}

/** An event source mapping. */
export interface MappingStats {
  readonly name: string;
  /** The binary's name of the function that it feeds. */
  readonly binary: string;
  readonly table: string;
  /** The age of the oldest record that waits, now. */
  readonly iteratorAgeMs: number;
  readonly waitingRecords: number;
  /** Batches that were given up and wait for a person; `null` when there is no queue. */
  readonly queue: { readonly name: string; readonly messages: number } | null;
  readonly metrics: Metrics;
}

/** A table, or one of its indexes. */
export interface TableStats {
  readonly table: string;
  readonly index: string | null;
  readonly metrics: Metrics;
}

/** All of it. */
export interface Snapshot {
  readonly slotSeconds: number;
  readonly slots: number;
  readonly api: Metrics;
  readonly functions: readonly FunctionStats[];
  readonly mappings: readonly MappingStats[];
  readonly tables: readonly TableStats[];
  readonly waiting: readonly Waiting[];
}

/** Items of a table that wait for a person, now. */
export interface Waiting {
  readonly table: string;
  /** What they are called together: `quarantine`. */
  readonly name: string;
  readonly count: number;
  /** The command that shows them. */
  readonly command: string;
}

/** `GET /_local/metrics`. */
export async function getSnapshot(signal: AbortSignal): Promise<Snapshot> {
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
      metrics: metrics(of),
    })),
    mappings: list(body, 'mappings').map((of) => ({
      name: text(of, 'name'),
      binary: binaries.get(text(of, 'function')) ?? text(of, 'function'),
      table: text(of, 'table'),
      iteratorAgeMs: count(of, 'iteratorAgeMs'),
      waitingRecords: count(of, 'waitingRecords'),
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

/** Whether an error says that there is no local stack behind this address, or that it is not for this reader: it will stay so. */
export function isElsewhere(error: ApiError): boolean {
  // A CDN answers a path that it does not know with 403, 404, or a document of its own.
  return error.problem !== null && [200, 403, 404].includes(error.problem.status);
}

function metrics(of: JsonObject): Metrics {
  const entries = Object.entries(object(of, 'metrics'));
  return Object.fromEntries(entries.flatMap(([name, value]) => (isObject(value) ? [[name, series(value)]] : [])));
}

function series(value: JsonObject): Series {
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
