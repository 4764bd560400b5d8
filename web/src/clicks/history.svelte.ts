/** What the history section shows, and its statistics. */
import type { ApiError } from '../shared/api.ts';
import { serverNowMs } from '../shared/clock.ts';
import { addDays, dayCount, lastDays, type DayRange } from '../shared/days.ts';
import { getDays, getSeries, getTargets, type Stat, type TargetStat } from './api.ts';
import { getLocalDays, isExactIn, localDayOf, type LocalDay } from './localDays.ts';
import { Latest } from './stats.svelte.ts';
import { ranked, type RankedTarget } from './target.ts';
import { isSameView, PRESET_DEFAULT, presetRange, type Unit, type View } from './units.ts';

/** The number of earlier days for the marks of the gauge. */
const GAUGE_DAYS = 30;

/** The number of targets in the list. */
const TARGETS_SHOWN = 10;

/** The most days whose targets are added up: the API lists the targets of one day. */
const TARGET_DAYS_MAX = 92;

/** Requests for targets at a time, as many as a browser sends over HTTP/1.1. */
const TARGET_REQUESTS = 6;

/** The periods of a view. */
export interface Series {
  readonly view: View;
  /** Oldest first, without gaps. */
  readonly stats: readonly Stat[];
  /** The same days of the reader's time zone, for the chart; `null` for UTC. */
  readonly localDays: readonly LocalDay[] | null;
  /** The days for the gauge, oldest first. */
  readonly gaugeDays: readonly Stat[];
}

/** The targets of a range. */
export interface TopTargets {
  readonly range: DayRange;
  /** The days with clicks, oldest first. */
  readonly days: readonly string[];
  /** All clicks, also those without a target. */
  readonly clicks: number;
  /** Most clicks first. */
  readonly items: readonly RankedTarget[];
}

/** The chosen unit, range and target, with their statistics. */
export class ClickHistory {
  /** The current UTC day. */
  #today = $state('');
  /**
   * The current preset, which moves on at midnight UTC; `null` for two chosen dates, which stay.
   */
  #preset: number | null = PRESET_DEFAULT.day;
  #view = $state.raw<View>({ unit: 'day', range: { from: '', to: '' }, target: null });
  /**
   * The total and the day of the last complete read. While both stay the same, nothing has changed.
   */
  #read: string | null = null;
  /** The targets of days, with the clicks of the day when they were read. */
  readonly #targetsOf = new Map<string, { readonly clicks: number; readonly items: readonly TargetStat[] }>();

  /** The time zone whose days the chart shows; `null` for UTC. */
  #zone = $state<string | null>(null);

  readonly zone = $derived(this.#zone);
  readonly series = new Latest<Series>();
  readonly targets = new Latest<TopTargets>();
  readonly view = $derived(this.#view);
  readonly today = $derived(this.#today);

  constructor(today: string) {
    this.#today = today;
    this.#view = { unit: 'day', range: presetRange('day', PRESET_DEFAULT.day, today), target: null };
  }

  /** Why the last reads failed; `null` when they did not. */
  get error(): ApiError | null {
    return this.series.error ?? this.targets.error;
  }

  /** Shows a range. `preset` is `null` for two chosen dates. */
  choose(range: DayRange, preset: number | null): void {
    this.#preset = preset;
    this.#show({ ...this.#view, range });
  }

  /** Shows another unit. Two chosen dates stay, except between hours and the other units. */
  turnTo(unit: Unit): void {
    this.#show(this.#inUnit(unit));
  }

  /** Shows the days of one target; `null` shows all clicks again. */
  filter(target: string | null): void {
    this.#show({ ...(target === null ? this.#view : this.#inUnit('day')), target });
  }

  /** Shows the days of a time zone in the chart; `null` shows UTC days again. */
  showZone(zone: string | null): void {
    this.#zone = zone;
    void this.loadSeries();
  }

  /** Whether the view can be shown in days of a time zone. */
  canShow(zone: string): boolean {
    return this.#view.unit === 'day' && this.#view.target === null && isExactIn(zone, this.#view.range);
  }

  /** Moves to the current day. */
  turnDay(today: string): void {
    if (today === this.#today) return;
    this.#today = today;
    if (this.#preset !== null) this.choose(presetRange(this.#view.unit, this.#preset, today), this.#preset);
  }

  /** Reads everything again if the total or the day has changed, or if the last read failed. */
  async refresh(total: number): Promise<void> {
    const read = `${total} ${this.#today}`;
    if (read === this.#read && this.error === null) return;
    await Promise.all([this.loadSeries(), this.loadTargets()]);
    if (this.error === null) this.#read = read;
  }

  /** Reads the periods of the view. */
  loadSeries(): Promise<void> {
    const view = this.#view;
    const recent: View = { unit: 'day', range: lastDays(this.#today, GAUGE_DAYS), target: null };
    return this.series.load(async (signal) => {
      const days = getDays(recent.range, signal);
      const [gaugeDays, stats, localDays] = await Promise.all([
        days,
        isSameView(view, recent) ? days : getSeries(view, signal),
        this.#localDays(view, signal),
      ]);
      return { view, stats, localDays, gaugeDays };
    });
  }

  /** Reads the targets of the view's last days: of those days whose clicks have changed. */
  loadTargets(): Promise<void> {
    const { from, to } = this.#view.range;
    const first = addDays(to, 1 - TARGET_DAYS_MAX);
    const range = { from: from > first ? from : first, to };
    return this.targets.load(async (signal) => {
      const days = (await getDays(range, signal)).filter(({ totalClicks }) => totalClicks > 0);
      const changed = days.filter(({ period, totalClicks }) => this.#targetsOf.get(period)?.clicks !== totalClicks);
      const read = async (): Promise<void> => {
        for (let day = changed.pop(); day; day = changed.pop()) {
          const items = await getTargets(day.period, signal);
          this.#targetsOf.set(day.period, { clicks: day.totalClicks, items });
        }
      };
      await Promise.all(Array.from({ length: TARGET_REQUESTS }, read));
      const lists = days.map(({ period }) => this.#targetsOf.get(period)?.items ?? []);
      return {
        range,
        days: days.map(({ period }) => period),
        clicks: days.reduce((sum, { totalClicks }) => sum + totalClicks, 0),
        items: (from === to ? lists.flat() : ranked(lists)).slice(0, TARGETS_SHOWN),
      };
    });
  }

  async #localDays({ range }: View, signal: AbortSignal): Promise<readonly LocalDay[] | null> {
    const zone = this.#zone;
    if (zone === null || !this.canShow(zone)) return null;
    // A range until today ends with the local today.
    const today = localDayOf(zone, serverNowMs());
    const local = range.to === this.#today ? lastDays(today, dayCount(range)) : range;
    return getLocalDays(zone, local, signal);
  }

  #inUnit(unit: Unit): View {
    const before = this.#view.unit;
    if (unit === before) return this.#view;
    if (this.#preset === null && unit !== 'hour' && before !== 'hour') return { ...this.#view, unit };
    this.#preset = PRESET_DEFAULT[unit];
    return { ...this.#view, unit, range: presetRange(unit, this.#preset, this.#today) };
  }

  #show(view: View): void {
    if (isSameView(view, this.#view)) return;
    const { from, to } = this.#view.range;
    this.#view = view;
    void this.loadSeries();
    if (from !== view.range.from || to !== view.range.to) void this.loadTargets();
  }
}
