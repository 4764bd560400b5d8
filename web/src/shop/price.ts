/** Checks a price before it is sent. */

/**
 * Whether a new price is usually a typing error: 0, or more than ten times as high or as low as the
 * price before. No price is ten times 0.
 */
export function isUnusualPrice(before: number, after: number): boolean {
  return after === 0 || (before > 0 && (after > before * 10 || after * 10 < before));
}
