/**
 * The statistics of the page as reactive state: live figures, and the days and months of the chosen
 * range.
 */
import { asApiError, type ApiError } from '../shared/api.ts';
import type { DayRange } from '../shared/days.ts';
import { getDay, getDays, getMonth, getMonths, getTotal, type Stat } from './api.ts';
import { monthOf, monthsBeside } from './calendar.ts';

/** The figures that are polled. */
export interface LiveFigures {
  readonly today: Stat;
  readonly month: Stat;
  readonly total: number;
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
      const [day, month] = await Promise.all([getDay(today, signal), getMonth(monthOf(today), signal)]);
      this.figures = { today: day, month, total };
      this.error = null;
      return this.figures;
    } catch (error) {
      if (!signal.aborted) this.error = asApiError(error);
      throw error;
    }
  }
}

/** Days and months of a range. */
export interface Series {
  readonly range: DayRange;
  /** Oldest first, every day of the range. */
  readonly days: readonly Stat[];
  /** Oldest first. */
  readonly months: readonly Stat[];
}

/** Loads the chosen range. */
export class RangeStats {
  /** The last response; `null` before the first one. */
  series = $state.raw<Series | null>(null);
  /** Why the last read failed; `null` when it did not. */
  error = $state.raw<ApiError | null>(null);
  #request: AbortController | undefined;

  /** Reads a range and aborts an earlier request that is still running. */
  async load(range: DayRange): Promise<void> {
    this.#request?.abort();
    const request = new AbortController();
    this.#request = request;
    try {
      const [days, months] = await Promise.all([
        getDays(range, request.signal),
        getMonths(monthsBeside(range), request.signal),
      ]);
      this.series = { range, days, months };
      this.error = null;
    } catch (error) {
      if (!request.signal.aborted) this.error = asApiError(error);
    }
  }
}
