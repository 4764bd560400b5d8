import { getFaults, putFaults, type Faults } from './faults.ts';

/** The faults that the stack injects now, and their changes. */
export class FaultControl {
  /** `null` until they are known; a deployed stack has none. */
  faults = $state.raw<Faults | null>(null);
  failed = $state(false);
  #changes = 0;

  /** Reads the faults again, because others set them too. */
  async refresh(): Promise<void> {
    const asked = this.#changes;
    const found = await getFaults().catch(() => null);
    // An answer that was asked for before a change must not undo it.
    if (found && asked === this.#changes) this.faults = found;
  }

  /** Applies a change to the newest faults, so that those of others stay. */
  async change(to: (now: Faults) => Faults): Promise<void> {
    this.#changes += 1;
    this.failed = false;
    try {
      this.faults = await putFaults(to(await getFaults()));
    } catch {
      this.failed = true;
      // The switches show what is, not what was wished for.
      this.faults = this.faults && { ...this.faults };
    }
  }
}
