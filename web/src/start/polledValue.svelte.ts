/**
 * A polled value of the start page. Each value has its own poll, so that a failing system does not
 * affect the others.
 */
import { presence } from '../shared/online.svelte.ts';
import { Poll } from '../shared/poll.ts';

const BACKOFF = { firstMs: 2_000, maxMs: 60_000 };

/**
 * A value that is polled while the page is visible and online. Create it during the setup of a
 * component.
 */
export class PolledValue<T> {
  /** The last value; `null` before the first response. It stays when a later request fails. */
  value = $state.raw<T | null>(null);
  /** The last request failed. */
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
