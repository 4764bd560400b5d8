/** The state of a form that is being submitted. */
import { asApiError, type ApiError } from './api.ts';

/** The change that a form makes: running, done, or failed. */
export class Change {
  busy = $state(false);
  /** Why the last attempt failed. */
  error = $state.raw<ApiError | null>(null);
  /** The success message of the last attempt, in the page's language. */
  outcome = $state('');

  /** Runs `task`, which returns the success message. Returns whether the task ran and succeeded. */
  async run(task: () => Promise<string>): Promise<boolean> {
    if (this.busy) return false;
    this.busy = true;
    this.error = null;
    this.outcome = '';
    try {
      this.outcome = await task();
      return true;
    } catch (failure) {
      this.error = asApiError(failure);
      return false;
    } finally {
      this.busy = false;
    }
  }
}
