/**
 * The panel "Try to break it": faults that only the local stack can inject, and beside the exact
 * total the counter of the handler that is usually written.
 */
import { requestJson } from '../shared/api.ts';
import { isLoopbackHost } from '../shared/pages.ts';

/** The function that counts, as the stack names it. */
const AGGREGATOR = 'stats-aggregator';
const ONCE = { next: 1 };
const MOSTLY = { probability: 0.6 };
/**
 * A fault is injected when this many of its clicks are stored, so that the next batch is a big one.
 * The other clicks are sent after that, so that some of them meet the fault.
 */
const STORED_BEFORE_FAULT = 30;
const POLL_MS = 300;
/**
 * The pause between two clicks. The server stores at most one click of a visitor in a millisecond.
 */
const CLICK_EVERY_MS = 8;
/** The usual handler is done when its counter stays the same for so long. */
const STILL_MS = 3_000;
/** A trial ends after this time, whatever is still missing. */
const TRIAL_MAX_MS = 300_000;

/** What can be tried: its clicks, its faults, and the seconds until they end. */
const TRIALS = {
  kill: { clicks: 100, faults: { functions: { function: AGGREGATOR, kill_after: ONCE } } },
  twice: { clicks: 100, faults: { functions: { function: AGGREGATOR, deliver_twice: ONCE } } },
  lose: {
    clicks: 100,
    faults: {
      engine: { fail_after: { TransactWriteItems: ONCE, UpdateItem: ONCE }, failure_reply: 'connection_closed' },
    },
  },
  throttle: {
    clicks: 100,
    seconds: 10,
    faults: {
      engine: {
        fail_before: { PutItem: MOSTLY, TransactWriteItems: MOSTLY, UpdateItem: MOSTLY },
        failure_reply: 'throttled',
      },
    },
  },
  stop: {
    clicks: 100,
    seconds: 10,
    faults: { functions: { function: AGGREGATOR, kill_before: { probability: 1 } } },
  },
  many: { clicks: 1_000 },
} as const satisfies Record<string, { clicks: number; seconds?: number; faults?: object }>;

export type Trial = keyof typeof TRIALS;
export const trials = Object.keys(TRIALS) as readonly Trial[];

/** The two counters. */
export interface Counters {
  readonly exact: number;
  readonly usual: number;
}

/** One trial: the counters before it, and now or at its end. */
export interface Row {
  readonly trial: Trial;
  readonly clicks: number;
  readonly before: Counters;
  readonly after: Counters;
  readonly isOver: boolean;
}

/** What the panel needs of the page. */
export interface Clicker {
  /** Sends one click; `false` while too many are unsent. */
  readonly click: () => boolean;
  /** The clicks that are not stored yet. */
  readonly underWay: () => number;
  /** The exact total, as the page shows it. */
  readonly total: () => number | null;
}

/** Whether this page belongs to a local stack with its own DynamoDB, and may inject faults. */
export async function canBreak(): Promise<boolean> {
  if (!isLoopbackHost(location.hostname)) return false;
  const faults = await requestJson('/_local/faults').catch(() => null);
  return faults !== null && faults['engine'] != null;
}

export class BreakIt {
  /** The trials of this visit, newest first. */
  rows = $state.raw<readonly Row[]>([]);
  failed = $state(false);
  /** The usual handler's counter; `null` until the first trial starts it at the exact total. */
  usual = $state<number | null>(null);
  readonly running = $derived(this.rows.some((row) => !row.isOver));
  /** Whether a trial can start: clicks that are still unsent would be counted as its own. */
  readonly ready = $derived.by(() => !this.running && this.#clicker.total() !== null && this.#clicker.underWay() === 0);
  readonly #clicker: Clicker;
  #stopped = false;

  constructor(clicker: Clicker) {
    this.#clicker = clicker;
  }

  /** Ends a running trial. */
  stop(): void {
    this.#stopped = true;
  }

  /** Sends the clicks of a trial with its faults, until both counters stand still. */
  async try(trial: Trial): Promise<void> {
    const total = this.#clicker.total();
    if (!this.ready || total === null) return;
    this.failed = false;
    try {
      this.usual ??= await start(total);
      await this.#run(trial, { exact: total, usual: this.usual });
    } catch {
      this.failed = true;
    }
    this.rows = this.rows.map((row) => ({ ...row, isOver: true }));
  }

  async #run(trial: Trial, before: Counters): Promise<void> {
    const plan: { clicks: number; seconds?: number; faults?: object } = TRIALS[trial];
    const { clicks, seconds = 0 } = plan;
    this.rows = [{ trial, clicks, before, after: before, isOver: false }, ...this.rows];
    let { faults } = plan;
    let sent = 0;
    const sending = setInterval(() => {
      const allowed = faults === undefined ? clicks : STORED_BEFORE_FAULT;
      if (sent < allowed && this.#clicker.click()) sent += 1;
    }, CLICK_EVERY_MS);
    let changedAt = Date.now();
    const endsBy = changedAt + TRIAL_MAX_MS;
    try {
      while (!this.#stopped && Date.now() < endsBy) {
        if (faults !== undefined && sent - this.#clicker.underWay() >= STORED_BEFORE_FAULT) {
          await inject(faults, seconds);
          faults = undefined;
          changedAt = Date.now() + seconds * 1_000;
        }
        const usual = await readUsual();
        const exact = this.#clicker.total() ?? before.exact;
        if (usual !== this.usual) changedAt = Math.max(changedAt, Date.now());
        this.usual = usual;
        this.rows = this.rows.map((row, index) => (index === 0 ? { ...row, after: { exact, usual } } : row));
        const isCounted = sent === clicks && this.#clicker.underWay() === 0 && exact - before.exact >= clicks;
        if (isCounted && faults === undefined && Date.now() - changedAt >= STILL_MS) return;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    } finally {
      clearInterval(sending);
    }
  }
}

async function inject(faults: object, seconds: number): Promise<void> {
  const query = seconds > 0 ? `?seconds=${seconds}` : '';
  await requestJson(`/_local/faults${query}`, { method: 'PUT', body: faults });
}

async function start(from: number): Promise<number> {
  const body = { function: AGGREGATOR, sums: 'clickCount', from };
  return (await requestJson<{ total: number }>('/_local/usual-handler', { method: 'PUT', body })).total;
}

async function readUsual(): Promise<number> {
  return (await requestJson<{ total: number }>('/_local/usual-handler')).total;
}
