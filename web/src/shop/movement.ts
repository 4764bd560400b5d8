/** What somebody wants to write into the ledger, checked before it is sent. */
import { parseWhole, QUANTITY_MAX, STOCK_MAX, type WholeFault } from '../shared/numbers.ts';
import type { MovementType } from './api.ts';

/** Why a text is not the quantity of a movement. */
export type QuantityFault = WholeFault | 'sign' | 'zero';

/** The quantity of a movement of that type: of a correction with its sign, of a count all that is there. */
export function parseQuantity(typed: string, type: MovementType): number | QuantityFault {
  const quantity = parseWhole(typed, type === 'COUNT' ? STOCK_MAX : QUANTITY_MAX);
  if (typeof quantity === 'string') return quantity;
  if (type === 'ADJUST') return quantity === 0 ? 'zero' : quantity;
  return quantity < (type === 'COUNT' ? 0 : 1) ? 'sign' : quantity;
}

/** What a movement would make of a stock, if the server agrees. */
export function stockAfter(stock: number, type: MovementType, quantity: number): number {
  if (type === 'COUNT') return quantity;
  return type === 'OUT' ? stock - quantity : stock + quantity;
}

/** Whether a text may be a product's or an order's id. */
export function isId(text: string): boolean {
  return /^[A-Za-z0-9._-]{1,64}$/.test(text) && text !== '.' && text !== '..';
}
