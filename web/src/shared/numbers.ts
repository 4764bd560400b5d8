/**
 * Parses and formats money and quantities. The API takes whole numbers, and money in the currency's
 * minor unit.
 *
 * The number of decimal places comes from ISO 4217. `Intl` differs from the standard for some
 * currencies and between browsers, so this file lists the currencies that do not have two decimal
 * places (ISO 4217:2015, list one).
 */

/** The largest price that the API accepts, in minor units. */
export const PRICE_MAX = 10 ** 15;
/** The largest quantity of one stock movement. */
export const QUANTITY_MAX = 10 ** 9;
/** The largest stock of a product. */
export const STOCK_MAX = 10 ** 12;

/** Why a text is not a valid amount of money. */
export type MoneyFault = 'empty' | 'notANumber' | 'negative' | 'ambiguous' | 'tooPrecise' | 'tooLarge';
/** Why a text is not a valid whole number. */
export type WholeFault = 'empty' | 'notANumber' | 'tooLarge';

const EXPONENTS: Readonly<Record<string, number>> = {
  ...digits(0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'),
  ...digits(3, 'BHD IQD JOD KWD LYD OMR TND'),
  ...digits(4, 'CLF UYW'),
};

/** The number of decimal places of a currency. */
export function exponentOf(currency: string): number {
  return EXPONENTS[currency] ?? 2;
}

/** `€12.50`, in the reader's locale. */
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
    // `Intl` throws for a text that does not have the form of a currency code.
    return `${amount} ${currency}`;
  }
}

/** `12.50`, without a currency symbol and without grouping. */
export function plainMoney(minor: number, currency: string): string {
  const fraction = exponentOf(currency);
  const sign = minor < 0 ? '-' : '';
  const all = String(Math.abs(minor)).padStart(fraction + 1, '0');
  return fraction === 0 ? sign + all : `${sign}${all.slice(0, -fraction)}.${all.slice(-fraction)}`;
}

/** The amount in major units, for the axis of a chart. */
export function majorUnits(minor: number, currency: string): number {
  return minor / 10 ** exponentOf(currency);
}

/**
 * Parses a typed amount into minor units: `1,234.50`, `1.234,50`, `1 234,5`, `¥1,200`, `１２００円`.
 *
 * A single comma before three digits separates thousands, as in English and Japanese. A single
 * point before three digits is a decimal point if the currency has three decimal places. For other
 * currencies it is `ambiguous`: it may separate thousands, and a wrong guess would make the price a
 * thousand times too high or too low.
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

/** Parses a typed whole number: `1,200`, `−5`, `１２`. Its absolute value must not be above `max`. */
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

/**
 * Splits an amount at its decimal mark, if it has one. `isTidy` says whether its thousands are
 * grouped correctly.
 */
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

/**
 * Whether digits are grouped by threes, or as in India by twos above the last three: `1,234`,
 * `12,34,567`.
 */
function isGrouped(text: string, mark: string): boolean {
  return new RegExp(`^[1-9]\\d{0,2}(\\${mark}\\d{2,3})*\\${mark}\\d{3}$`).test(text);
}

function digits(exponent: number, codes: string): Record<string, number> {
  return Object.fromEntries(codes.split(' ').map((code) => [code, exponent]));
}
