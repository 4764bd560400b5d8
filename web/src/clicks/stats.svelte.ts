/** The statistics of the page as reactive state: the live figures, and reads that can change. */
import { asApiError, type ApiError } from '../shared/api.ts';
import { getDay, getMonth, getTotal, getVisitors, type Stat } from './api.ts';
import { monthOf } from './calendar.ts';

/** The figures that are polled. */
export interface LiveFigures {
  readonly today: Stat;
  readonly month: Stat;
  readonly total: number;
  /** The visitors of all time, and among how many clicks they were counted. */
  readonly allTime: Awaited<ReturnType<typeof getVisitors>>;
}

/** Today, this month and the total. */
export class LiveStats {
  /** The last figures; `null` before the first response. They stay when a later request fails. */
  figures = $state.raw<LiveFigures | null>(null);
  /** Why the last read failed; `null` when it did not. */
  error = $state.raw<ApiError | null>(null);

  /** Reads all figures for this UTC day. Rejects on failure, so that the poll backs off. */
  async load(today: string, signal: AbortSignal): Promise<LiveFigures> {
    try {
      // The total is read first, so that the day and the month include at least the same clicks.
      const total = await getTotal(signal);
      const known = this.figures?.allTime;
      const [day, month, allTime] = await Promise.all([
        getDay(today, signal),
        getMonth(monthOf(today), signal),
        // Most polls find no new click.
        known?.totalClicks === total ? known : getVisitors(signal),
      ]);
      this.figures = { today: day, month, total, allTime };
      this.error = null;
      return this.figures;
    } catch (error) {
      if (!signal.aborted) this.error = asApiError(error);
      throw error;
    }
  }
}

/** The latest response to a request that may change, such as one for a chosen range. */
export class Latest<T> {
  /** The last response; `null` before the first one. It stays when a later request fails. */
  value = $state.raw<T | null>(null);
  /** Why the last request failed; `null` when it did not. */
  error = $state.raw<ApiError | null>(null);
  #request: AbortController | undefined;

  /** Sends a request and aborts an earlier one that is still running. */
  async load(read: (signal: AbortSignal) => Promise<T>): Promise<void> {
    this.#request?.abort();
    const request = new AbortController();
    this.#request = request;
    try {
      const value = await read(request.signal);
      // An aborted request may still have its response.
      if (request.signal.aborted) return;
      this.value = value;
      this.error = null;
    } catch (error) {
      if (!request.signal.aborted) this.error = asApiError(error);
    }
  }
}
