/** The statistics that the page shows, as reactive state: the live figures and the days and months of the chosen range. */
import { asApiError, type ApiError } from '../shared/api.ts';
import type { DayRange } from '../shared/days.ts';
import { getDay, getDays, getMonth, getMonths, getTotal, type Stat } from './api.ts';
import { monthOf, monthsBeside } from './calendar.ts';

/** What changes by the second. */
export interface LiveFigures {
  readonly today: Stat;
  readonly month: Stat;
  readonly total: number;
}

/** Today, this month and the total. */
export class LiveStats {
  /** The last figures that were read; `null` before the first. They stay while a later read fails. */
  figures = $state.raw<LiveFigures | null>(null);
  /** Why the last read failed; `null` when it did not. */
  error = $state.raw<ApiError | null>(null);

  /** Reads all of them for that UTC day. Rejects when it fails, so that the poll slows down. */
  async load(today: string, signal: AbortSignal): Promise<LiveFigures> {
    try {
      // The total is read first: what it includes, the day and the month, read later, include too.
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

/** The chosen range, loaded. */
export class RangeStats {
  /** The last series that was read; `null` before the first. */
  series = $state.raw<Series | null>(null);
  /** Why the last read failed; `null` when it did not. */
  error = $state.raw<ApiError | null>(null);
  #request: AbortController | undefined;

  /** Reads a range; a read that is still under way gives way to it. */
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
