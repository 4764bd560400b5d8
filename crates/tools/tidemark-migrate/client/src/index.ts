/**
 * The client of the sidecar (`tidemark-migrate serve`): it writes rows to the side that owns their
 * owner, PostgreSQL or DynamoDB, and reads the items of an owner.
 *
 * ```ts
 * interface Tables {
 *   orders: { id: number; customer_id: number; state: string };
 * }
 * const migration = new Migration<Tables>("http://127.0.0.1:8787", { token });
 * await migration.put("orders", { id: 7, customer_id: 3, state: "paid" });
 * ```
 */

/** The database that took a write. */
export type Side = 'postgres' | 'dynamo';

/** A value of a column: an object or an array is JSON. */
export type Value = string | number | boolean | null | object;

/** The columns of a row, by PostgreSQL's names. */
export type Row = { [column: string]: Value };

/** An item in DynamoDB's JSON, as `unmarshall` of `@aws-sdk/util-dynamodb` takes it. */
export type Item = { [attribute: string]: { [type: string]: unknown } };

export interface Options {
  /** The token of the sidecar (`--token-file`). */
  token: string;
  /** The milliseconds that one attempt may take; default 35,000, which is longer than the sidecar's own limit. */
  timeout?: number;
  /** How often a call is tried; default 6, which takes about ten seconds without an answer. */
  attempts?: number;
}

export interface CallOptions {
  /** Ends the call. Whether a write was done is unknown then. */
  signal?: AbortSignal;
}

/** Why a call failed. Every write may be repeated after any error. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';

  constructor(
    /**
     * The stable type: `taken` (another owner has the key), `refused`, `moving`, `busy`, `bad-row`,
     * `unknown-table`, `unauthorized`, `timeout`, `unreachable`, or the type of a side's failure.
     */
    readonly type: string,
    message: string,
    /** The status of the answer; 0 if there was none. */
    readonly status: number,
  ) {
    super(message);
  }
}

/** The statuses after which a call is tried again: the cause may go by itself. */
const AGAIN = new Set([0, 502, 503, 504]);

export class Migration<Tables extends { [Table in keyof Tables]: object } = { [table: string]: Row }> {
  readonly #url: string;
  readonly #options: Required<Omit<Options, 'token'>>;
  readonly #headers: { [name: string]: string };

  constructor(url: string, options: Options) {
    this.#url = url.replace(/\/+$/, '');
    const { token, timeout = 35_000, attempts = 6 } = options;
    this.#options = { timeout, attempts };
    this.#headers = { authorization: `Bearer ${token}` };
  }

  /** Inserts a row, or updates the given columns of the row with the same key. */
  async put<Table extends keyof Tables & string>(
    table: Table,
    row: Partial<Tables[Table]> & object,
    options?: CallOptions,
  ): Promise<Side> {
    const body = JSON.stringify(row);
    return (await this.#call<{ side: Side }>('PUT', `/rows/${encodeURIComponent(table)}`, body, options)).side;
  }

  /** Deletes a row; a missing row counts as deleted. `row` has its key and its owner's id. */
  async delete<Table extends keyof Tables & string>(
    table: Table,
    row: Partial<Tables[Table]> & object,
    options?: CallOptions,
  ): Promise<Side> {
    const columns = Object.entries(row).map(([name, value]): [string, string] => [name, String(value)]);
    const path = `/rows/${encodeURIComponent(table)}?${new URLSearchParams(columns)}`;
    return (await this.#call<{ side: Side }>('DELETE', path, undefined, options)).side;
  }

  /** The items of a type in the owner's own partitions, with every write that was answered before. */
  async items(owner: string | number, type: string, options?: CallOptions): Promise<Item[]> {
    const path = `/owners/${encodeURIComponent(owner)}/items/${encodeURIComponent(type)}`;
    return (await this.#call<{ items: Item[] }>('GET', path, undefined, options)).items;
  }

  async #call<Answer>(method: string, path: string, body?: string, options: CallOptions = {}): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      options.signal?.throwIfAborted();
      try {
        return await this.#attempt<Answer>(method, path, body, options.signal);
      } catch (error) {
        const isLast = attempt >= this.#options.attempts;
        if (!(error instanceof MigrationError) || !AGAIN.has(error.status) || isLast) throw error;
      }
      await pause(100 * 2 ** attempt * (0.5 + Math.random()), options.signal);
    }
  }

  async #attempt<Answer>(method: string, path: string, body?: string, signal?: AbortSignal): Promise<Answer> {
    const limit = AbortSignal.timeout(this.#options.timeout);
    const request: RequestInit = {
      method,
      headers: { ...this.#headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      ...(body === undefined ? {} : { body }),
    };
    let status = 0;
    let text: string;
    try {
      const response = await fetch(this.#url + path, request);
      text = await response.text();
      status = response.status;
    } catch (error) {
      signal?.throwIfAborted();
      throw new MigrationError('unreachable', `the sidecar does not answer: ${String(error)}`, 0);
    }
    const answer = parsed(text);
    if (status === 200 && answer !== undefined) return answer as Answer;
    const { type = 'unreachable', detail = text } =
      (answer as { error?: { type?: string; detail?: string } })?.error ?? {};
    throw new MigrationError(type, detail, status);
  }
}

/** Something between the client and the sidecar may answer without JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
