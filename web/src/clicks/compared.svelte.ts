/** A comparison with the period before as reactive state. */
import { serverNowMs } from '../shared/clock.ts';
import { compare, type Comparison } from './comparison.ts';
import { Latest } from './stats.svelte.ts';
import { isSameView, type View } from './units.ts';

/** While clicks come, a comparison is read again this often: late clicks change an ended period. */
const REREAD_MS = 60_000;

/** The comparison of one view. */
export class Compared extends Latest<Comparison | null> {
  #read: { readonly view: View; readonly nowHour: string; readonly total: number; readonly atMs: number } | null = null;

  /** Reads it again if the view or the hour has changed, and once a minute if the total has. */
  async refresh(view: View, nowHour: string, total: number): Promise<void> {
    const [read, atMs] = [this.#read, serverNowMs()];
    const isSame = read !== null && this.error === null && isSameView(read.view, view) && read.nowHour === nowHour;
    if (isSame && (read.total === total || atMs - read.atMs < REREAD_MS)) return;
    this.#read = { view, nowHour, total, atMs };
    await this.load((signal) => compare(view, nowHour, signal));
    if (this.error !== null) throw this.error;
  }
}
