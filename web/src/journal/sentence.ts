/** Builds the text of an entry in the reader's language from its attributes. */
import { formatCount, formatShare, formatSigned } from '../shared/format.ts';
import { formatMoney } from '../shared/numbers.ts';
import type { Entry } from './api.ts';
import type { Words } from './words.ts';

/** The kinds that this page has texts for. */
export type Kind = keyof Words['kinds'];

/** The text of an entry. With a product, the product's name comes first. */
export interface Sentence {
  readonly kind: Kind;
  readonly productId: string | null;
  /** The text after the product's name; `null` to show the entry's own message. */
  readonly text: string | null;
}

/**
 * Builds the text. An entry of an unknown kind, or without the attributes of its kind, keeps its
 * own message.
 */
export function sentence(entry: Entry, t: Words, locale: string): Sentence {
  const { attributes } = entry;
  const number = (name: string): number => {
    const text = attributes[name];
    return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : NaN;
  };
  const kind = attributes['kind'] ?? '';
  const productId = attributes['productId'] ?? null;
  const all = (text: string, ...facts: readonly number[]): Sentence | null =>
    facts.every(Number.isSafeInteger) ? { kind: kind as Kind, productId: null, text } : null;
  const about = (text: string, ...facts: readonly number[]): Sentence | null => {
    const told = all(text, ...facts);
    return told !== null && productId !== null ? { ...told, productId } : null;
  };
  const count = (name: string): string => formatCount(locale, number(name));
  const tell = (): Sentence | null => {
    switch (kind) {
      case 'game-finished': {
        const [players, rounds, best] = [number('players'), number('rounds'), number('bestScore')];
        return all(t.gameFinished(players, rounds, formatCount(locale, best)), players, rounds, best);
      }
      case 'price-changed': {
        const [price, currency] = [number('price'), attributes['currency'] ?? ''];
        if (!Number.isSafeInteger(price) || currency === '') return null;
        const money = (minor: number): string => formatMoney(locale, minor, currency);
        if (attributes['previousPrice'] === undefined) return about(t.firstPrice(money(price)), price);
        const previous = number('previousPrice');
        if (!Number.isSafeInteger(previous)) return null;
        const share = previous === 0 ? '' : formatShare(locale, price / previous - 1);
        return about(t.priceChanged(money(price), money(previous), share));
      }
      case 'stock-moved': {
        const type = attributes['changeType'] ?? '';
        if (!Object.hasOwn(t.stockMoved, type)) return null;
        const word = t.stockMoved[type as keyof typeof t.stockMoved];
        const quantity = number('quantity');
        // The texts for received and removed goods already say the direction.
        const told =
          type === 'IN' || type === 'OUT' ? formatCount(locale, Math.abs(quantity)) : formatSigned(locale, quantity);
        return about(word(told, count('stock')), quantity, number('stock'));
      }
      case 'low-stock':
        return about(
          t.lowStock(count('stock'), count('lowStockThreshold')),
          number('stock'),
          number('lowStockThreshold'),
        );
      case 'out-of-stock':
        return about(t.outOfStock);
      case 'record-quarantined':
        return all(t.recordQuarantined(attributes['reason'] ?? '?'));
      case 'record-settled': {
        const ending = attributes['ending'] ?? '';
        if (!Object.hasOwn(t.recordSettled, ending)) return null;
        return all(t.recordSettled[ending as keyof typeof t.recordSettled]);
      }
      case 'statistics-repaired':
        return all(t.statisticsRepaired);
      default:
        return null;
    }
  };
  const known = Object.hasOwn(t.kinds, kind) ? (kind as Kind) : 'other';
  return tell() ?? { kind: known, productId: null, text: null };
}
