/** Checks a stock movement before it is sent. */
import { parseWhole, QUANTITY_MAX, STOCK_MAX, type WholeFault } from '../shared/numbers.ts';
import type { MovementType } from './api.ts';

/** Why a text is not a valid quantity of a movement. */
export type QuantityFault = WholeFault | 'negative' | 'zero';

/**
 * Parses the quantity of a movement. Only an adjustment may be negative, and only a count may be 0.
 */
export function parseQuantity(typed: string, type: MovementType): number | QuantityFault {
  const quantity = parseWhole(typed, type === 'COUNT' ? STOCK_MAX : QUANTITY_MAX);
  if (typeof quantity === 'string') return quantity;
  if (quantity === 0) return type === 'COUNT' ? 0 : 'zero';
  return quantity < 0 && type !== 'ADJUST' ? 'negative' : quantity;
}

/** The stock after a movement, if the server accepts it. */
export function stockAfter(stock: number, type: MovementType, quantity: number): number {
  if (type === 'COUNT') return quantity;
  return type === 'OUT' ? stock - quantity : stock + quantity;
}

/** Whether a text is a valid ID of a product or an order. */
export function isId(text: string): boolean {
  return /^[A-Za-z0-9._-]{1,64}$/.test(text) && text !== '.' && text !== '..';
}
