/** What a form is at. */
import { asApiError, type ApiError } from './api.ts';

/** One form's change: under way, done, or failed. */
export class Change {
  busy = $state(false);
  /** Why the last attempt failed. */
  error = $state.raw<ApiError | null>(null);
  /** What the last attempt came to, in the page's language. */
  outcome = $state('');

  /** Makes the change; `task` gives the words for what it came to. Gives whether it was made. */
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
