import { getFaults, putFaults, type Faults } from './faults.ts';

/** The faults that the stack injects now, and their changes. */
export class FaultControl {
  /** `null` until they are known; a deployed stack has none. */
  faults = $state.raw<Faults | null>(null);
  /** How many changes failed. */
  failures = $state(0);
  /** Whether the newest change failed. */
  failed = $state(false);
  #changes = 0;
  #done = 0;
  #newest: Promise<void> = Promise.resolve();

  /** Reads the faults again, because others set them too. */
  async refresh(): Promise<void> {
    const asked = this.#changes;
    if (this.#done < asked) return;
    const found = await getFaults().catch(() => null);
    // An answer that was asked for before a change must not undo it.
    if (found && asked === this.#changes) this.faults = found;
  }

  /** Applies a change to the newest faults, so that those of others stay; after earlier changes. */
  change(to: (now: Faults) => Faults): Promise<void> {
    this.#changes += 1;
    this.#newest = this.#newest.then(async () => {
      try {
        this.faults = await putFaults(to(await getFaults()));
        this.failed = false;
      } catch {
        this.failures += 1;
        this.failed = true;
      }
      this.#done += 1;
    });
    return this.#newest;
  }
}
