/** One product and its price history as reactive state. */
import { asApiError, type ApiError } from '../shared/api.ts';
import { getHistory, getProduct, getSummary, type PriceHistory, type PriceSummary, type Product } from './api.ts';
import type { Span } from './steps.ts';

/** The current state of a product and its reference prices. */
export class ProductState {
  /** The last response. It stays when a later request fails. */
  product = $state.raw<Product | null>(null);
  summary = $state.raw<PriceSummary | null>(null);
  /** Why the last read failed. */
  error = $state.raw<ApiError | null>(null);

  constructor(readonly id: string) {}

  /** Reads the product. Rejects on failure, so that the poll backs off. */
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
export interface Prices extends PriceHistory {
  readonly span: Span;
}

/** Loads the prices of the chosen span. */
export class PricesState {
  /** The last response; `null` before the first one. */
  prices = $state.raw<Prices | null>(null);
  /** Why the last read failed. */
  error = $state.raw<ApiError | null>(null);
  #request: AbortController | undefined;

  /** Reads a span and aborts an earlier request that is still running. */
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

  /** Aborts a running request. */
  stop(): void {
    this.#request?.abort();
  }
}
