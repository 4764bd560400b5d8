/** The download of a CSV file as reactive state. */
import { asApiError, type ApiError } from '../shared/api.ts';
import { saveFile } from '../shared/download.ts';

/** One CSV button. */
export class CsvDownload {
  /** Why the last download failed; `null` when it did not. */
  error = $state.raw<ApiError | null>(null);

  /** Reads a file and saves it under this name. */
  async save(name: string, read: () => Promise<Blob>): Promise<void> {
    this.error = null;
    try {
      saveFile(name, await read());
    } catch (error) {
      this.error = asApiError(error);
    }
  }
}
