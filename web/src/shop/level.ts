/** How full a product's shelf is. */
import type { Product } from './api.ts';

/** Whether there is enough. */
export type Level = 'plenty' | 'low' | 'none';

/** Out of stock at 0; low from the product's threshold on. */
export function levelOf(product: Pick<Product, 'stock' | 'lowStockThreshold'>): Level {
  if (product.stock === 0) return 'none';
  return product.stock <= product.lowStockThreshold ? 'low' : 'plenty';
}

/** The marks on the gauge as shares of its length: what can be taken, what is reserved after it, and the low-stock line if there is one. */
export interface Marks {
  readonly available: number;
  readonly reserved: number;
  readonly lowLine: number | null;
}

/** The gauge is a little longer than the longest of its marks. `top` is the highest stock that it has to show beside today's. */
export function marksOf(product: Pick<Product, 'stock' | 'reserved' | 'available' | 'lowStockThreshold'>): Marks {
  const length = Math.max(product.stock, product.lowStockThreshold * 2, 1) * 1.08;
  return {
    available: product.available / length,
    reserved: product.reserved / length,
    lowLine: product.lowStockThreshold > 0 ? product.lowStockThreshold / length : null,
  };
}
