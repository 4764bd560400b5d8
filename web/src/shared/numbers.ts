/**
 * Money and quantities, as people write them and as the API takes them: whole numbers, money in a currency's smallest unit.
 *
 * How many digits that unit has is ISO 4217's to say. Browsers answer with the habits of shops instead, which differ for some
 * currencies and between browsers, so the exceptions stand here (ISO 4217:2015, list one).
 */

/** The largest price, in minor units, that the API takes. */
export const PRICE_MAX = 10 ** 15;
/** The largest quantity of one movement of goods. */
export const QUANTITY_MAX = 10 ** 9;
/** The largest stock of a product. */
export const STOCK_MAX = 10 ** 12;

/** Why a text is not an amount of money. */
export type MoneyFault = 'empty' | 'notANumber' | 'negative' | 'ambiguous' | 'tooPrecise' | 'tooLarge';
/** Why a text is not a whole number. */
export type WholeFault = 'empty' | 'notANumber' | 'tooLarge';

const EXPONENTS: Readonly<Record<string, number>> = {
  ...digits(0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'),
  ...digits(3, 'BHD IQD JOD KWD LYD OMR TND'),
  ...digits(4, 'CLF UYW'),
};

/** How many digits the smallest unit of a currency has. */
export function exponentOf(currency: string): number {
  return EXPONENTS[currency] ?? 2;
}

/** `€12.50`, by the reader's habits. */
export function formatMoney(locale: string, minor: number, currency: string): string {
  const fraction = exponentOf(currency);
  const amount = plainMoney(minor, currency) as `${number}`;
  try {
    return new Intl.NumberFormat(locale, {
      style: 'currency',
      currency,
      minimumFractionDigits: fraction,
      maximumFractionDigits: fraction,
    }).format(amount);
  } catch {
    // Not even of a code's shape: better as it is than not at all.
    return `${amount} ${currency}`;
  }
}

/** `12.50`, for a field to be edited. */
export function plainMoney(minor: number, currency: string): string {
  const fraction = exponentOf(currency);
  const sign = minor < 0 ? '-' : '';
  const all = String(Math.abs(minor)).padStart(fraction + 1, '0');
  return fraction === 0 ? sign + all : `${sign}${all.slice(0, -fraction)}.${all.slice(-fraction)}`;
}

/** Whole or fractional units, for a chart's axis. */
export function majorUnits(minor: number, currency: string): number {
  return minor / 10 ** exponentOf(currency);
}

/**
 * Minor units of what somebody typed: `1,234.50`, `1.234,50`, `1 234,5`, `¥1,200`, `１２００円`.
 *
 * Both languages of the page group thousands by commas and have a decimal point, so a single comma before three digits groups. A
 * single point before three digits is a fraction where the currency has that many; elsewhere it may be somebody else's thousands or
 * a slip, and a price that is a thousand times too high is not to be guessed.
 */
export function parseMoney(typed: string, currency: string): number | MoneyFault {
  const text = typed
    .normalize('NFKC')
    .replaceAll(/[\s'’_]|\p{Sc}|円|元/gu, '')
    .replace(new RegExp(`^${currency}|${currency}$`, 'i'), '')
    .replace(/[.,][-–—]$/u, '');
  if (text === '') return 'empty';
  if (/^[-−–]/u.test(text)) return 'negative';
  if (!/^[\d.,]+$/.test(text) || !/\d/.test(text)) return 'notANumber';
  const exponent = exponentOf(currency);
  const { whole, fraction, isTidy } = splitDecimal(text);
  if (!isTidy) return 'notANumber';
  if (exponent < 3 && isGrouped(text, '.') && fraction.length === 3) return 'ambiguous';
  if (fraction.replace(/0+$/, '').length > exponent) return 'tooPrecise';
  const minor = Number(whole + fraction.slice(0, exponent).padEnd(exponent, '0'));
  return minor > PRICE_MAX ? 'tooLarge' : minor;
}

/** A whole number of what somebody typed: `1,200`, `−5`, `１２`. `max` bounds it in both directions. */
export function parseWhole(typed: string, max = QUANTITY_MAX): number | WholeFault {
  const text = typed
    .normalize('NFKC')
    .replaceAll(/[\s'’_]/gu, '')
    .replace(/^[−–]/u, '-');
  if (text === '') return 'empty';
  const digits = text.replace(/^[-+]/, '');
  if (!/^\d+$/.test(digits) && !isGrouped(digits, ',')) return 'notANumber';
  const value = Number(digits.replaceAll(',', ''));
  if (value > max) return 'tooLarge';
  return text.startsWith('-') && value !== 0 ? -value : value;
}

/** Digits before and after the decimal mark, if there is one; `isTidy` says whether the thousands are grouped as they should. */
function splitDecimal(text: string): { whole: string; fraction: string; isTidy: boolean } {
  const at = Math.max(text.lastIndexOf('.'), text.lastIndexOf(','));
  if (at === -1) return { whole: text, fraction: '', isTidy: true };
  const mark = text.charAt(at);
  const [before, after] = [text.slice(0, at), text.slice(at + 1)];
  const isAlone = !/[.,]/.test(before);
  const groups = before.includes(mark) || (isAlone && mark === ',' && isGrouped(text, mark));
  if (groups) return { whole: text.replaceAll(mark, ''), fraction: '', isTidy: isGrouped(text, mark) };
  const other = mark === '.' ? ',' : '.';
  return { whole: before.replaceAll(other, ''), fraction: after, isTidy: isAlone || isGrouped(before, other) };
}

/** Thousands by threes, or as in India by twos above the first three: `1,234`, `12,34,567`. */
function isGrouped(text: string, mark: string): boolean {
  return new RegExp(`^[1-9]\\d{0,2}(\\${mark}\\d{2,3})*\\${mark}\\d{3}$`).test(text);
}

function digits(exponent: number, codes: string): Record<string, number> {
  return Object.fromEntries(codes.split(' ').map((code) => [code, exponent]));
}
