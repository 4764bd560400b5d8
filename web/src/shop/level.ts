/** The stock level of a product and the marks of its gauge. */
import type { Product } from './api.ts';

/** In stock, low, or out of stock. */
export type Level = 'plenty' | 'low' | 'none';

/** `none` at a stock of 0, `low` at the product's low-stock threshold or below. */
export function levelOf(product: Pick<Product, 'stock' | 'lowStockThreshold'>): Level {
  if (product.stock === 0) return 'none';
  return product.stock <= product.lowStockThreshold ? 'low' : 'plenty';
}

/**
 * The parts of the gauge as shares of its length. `lowLine` is `null` without a low-stock
 * threshold.
 */
export interface Marks {
  readonly available: number;
  readonly reserved: number;
  readonly lowLine: number | null;
}

/**
 * Computes the parts. The gauge is 8% longer than needed, so that a mark at its end stays visible.
 */
export function marksOf(product: Pick<Product, 'stock' | 'reserved' | 'available' | 'lowStockThreshold'>): Marks {
  const length = Math.max(product.stock, product.lowStockThreshold * 2, 1) * 1.08;
  return {
    available: product.available / length,
    reserved: product.reserved / length,
    lowLine: product.lowStockThreshold > 0 ? product.lowStockThreshold / length : null,
  };
}
