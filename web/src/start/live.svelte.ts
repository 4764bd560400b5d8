/** One reading of the start page, as reactive state: each for itself, so that one that fails leaves the others alone. */
import { presence } from '../shared/online.svelte.ts';
import { Poll } from '../shared/poll.ts';

const BACKOFF = { firstMs: 2_000, maxMs: 60_000 };

/** Something that is read again and again while the page can be seen. To be made while a component is set up. */
export class Live<T> {
  /** What was read last; `null` before the first answer. It stays while later reads fail. */
  value = $state.raw<T | null>(null);
  /** The last read failed. */
  failed = $state(false);

  constructor(read: (signal: AbortSignal) => Promise<T>, intervalMs: number) {
    const poll = new Poll({
      task: async (signal) => {
        try {
          this.value = await read(signal);
          this.failed = false;
        } catch (failure) {
          if (!signal.aborted) this.failed = true;
          throw failure;
        }
      },
      intervalMs: () => intervalMs,
      backoff: BACKOFF,
      isActive: () => presence.visible && presence.online,
    });
    $effect(() => {
      if (presence.visible && presence.online) poll.kick();
    });
    $effect(() => () => poll.stop());
  }
}
