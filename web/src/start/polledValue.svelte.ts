/**
 * A polled value of the start page. Each value has its own poll, so that a failing system does not
 * affect the others.
 */
import { presence } from '../shared/online.svelte.ts';
import { Poll } from '../shared/poll.ts';

/**
 * A value that is polled while the page is visible and online. Create it during the setup of a
 * component.
 */
export class PolledValue<T> {
  /** The last value; `null` before the first response. It stays when a later request fails. */
  value = $state.raw<T | null>(null);
  #hasFailed = $state(false);
  /** The value is not up to date: the last request failed, or the browser is offline. */
  readonly failed = $derived(this.#hasFailed || !presence.online);

  constructor(read: (signal: AbortSignal) => Promise<T>, intervalMs: number) {
    const poll = new Poll({
      task: async (signal) => {
        try {
          this.value = await read(signal);
          this.#hasFailed = false;
        } catch (failure) {
          if (!signal.aborted) this.#hasFailed = true;
          throw failure;
        }
      },
      intervalMs: () => intervalMs,
      isActive: () => presence.visible && presence.online,
    });
    $effect(() => {
      if (presence.visible && presence.online) poll.kick();
    });
    $effect(() => () => poll.stop());
  }
}
