/** The request of the operator's page: the metrics of the local stack in the last 15 minutes. */
import { isObject, requestJson, type ApiError, type JsonObject } from '../shared/api.ts';
import { count, object, optionalText, text } from '../shared/decode.ts';

/** The values of one slot, which is some seconds long. */
export interface Point {
  /** 0 is the oldest slot. The newest slot is still running. */
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

/** Metrics by their CloudWatch names. A metric without values is missing. */
export type Metrics = Readonly<Record<string, Series>>;

/** A Lambda function. */
export interface FunctionStats {
  /** The name of the function's binary, which the page shows. */
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
  /** The binary's name of the function that it invokes. */
  readonly binary: string;
  readonly table: string;
  /** The current age of the oldest waiting record. */
  readonly iteratorAgeMs: number;
  readonly waitingRecords: number;
  /** The failure queue with the number of failed batches; `null` when the mapping has none. */
  readonly queue: { readonly name: string; readonly messages: number } | null;
  readonly metrics: Metrics;
}

/** A table, or one of its indexes. */
export interface TableStats {
  readonly table: string;
  readonly index: string | null;
  readonly metrics: Metrics;
}

/** The complete response. */
export interface Snapshot {
  readonly slotSeconds: number;
  readonly slots: number;
  readonly api: Metrics;
  readonly functions: readonly FunctionStats[];
  readonly mappings: readonly MappingStats[];
  readonly tables: readonly TableStats[];
  readonly waiting: readonly Waiting[];
}

/** Items of a table that currently wait for an operator. */
export interface Waiting {
  readonly table: string;
  /** The name of this group of items, such as `quarantine`. */
  readonly name: string;
  readonly count: number;
  /** The command that lists them. */
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
