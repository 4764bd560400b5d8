/** One product as reactive state: how it stands, and what it cost in the chosen days. */
import { asApiError, type ApiError } from '../shared/api.ts';
import { getHistory, getProduct, getSummary, type History, type PriceSummary, type Product } from './api.ts';
import type { Span } from './steps.ts';

/** How it stands, with what matters of its prices. */
export class ProductState {
  /** What was read last; it stays while a later read fails. */
  product = $state.raw<Product | null>(null);
  summary = $state.raw<PriceSummary | null>(null);
  /** Why the last read failed. */
  error = $state.raw<ApiError | null>(null);

  constructor(readonly id: string) {}

  /** Reads it. Rejects when that fails, so that the poll slows down. */
  async load(signal: AbortSignal): Promise<Product> {
    try {
      const product = await getProduct(this.id, signal);
      if (product.version !== this.product?.version || this.summary === null) {
        this.summary = await getSummary(this.id, signal);
      }
      this.product = product;
      this.error = null;
      return product;
    } catch (error) {
      if (!signal.aborted) this.error = asApiError(error);
      throw error;
    }
  }
}

/** The prices of a span. */
export interface Prices extends History {
  readonly span: Span;
}

/** The prices of the chosen span, loaded. */
export class PricesState {
  /** What was read last; `null` before the first. */
  prices = $state.raw<Prices | null>(null);
  /** Why the last read failed. */
  error = $state.raw<ApiError | null>(null);
  #request: AbortController | undefined;

  /** Reads a span; a read that is still under way gives way to it. */
  async load(id: string, span: Span, token: string): Promise<void> {
    this.#request?.abort();
    const request = new AbortController();
    this.#request = request;
    try {
      const history = await getHistory(id, span, token, request.signal);
      if (request.signal.aborted) return;
      this.prices = { ...history, span };
      this.error = null;
    } catch (error) {
      if (!request.signal.aborted) this.error = asApiError(error);
    }
  }

  /** Lets go of what is under way. */
  stop(): void {
    this.#request?.abort();
  }
}
