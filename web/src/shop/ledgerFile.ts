/** The stock ledger as a file: CSV for spreadsheets, JSON Lines for programs. */
import type { Item } from '../shared/api.ts';

type Row = Item<'StockRows'>;

const FIELDS = [
  'id',
  'createdAt',
  'type',
  'quantity',
  'previousStock',
  'newStock',
  'reason',
  'orderId',
  'changedBy',
] as const satisfies readonly (keyof Row)[];

/**
 * The places in a text where a spreadsheet would begin a formula, also one with another separator
 * than the comma. The same as in `crates/lambda-kit/src/csv_cell.rs`.
 */
const FORMULA_BEGINS = /(?<=^|[;\t|\n\r])(?=['=+\-@\t\r＝＋－＠])/gu;

/** The rows as CSV (RFC 4180) with a header. */
export function ledgerCsv(rows: readonly Row[]): string {
  const lines = [FIELDS, ...rows.map((row) => FIELDS.map((field) => cell(row[field])))];
  return lines.map((cells) => `${cells.join(',')}\r\n`).join('');
}

/** The rows as JSON, each on a line. Members that a row does not have are left out. */
export function ledgerJsonLines(rows: readonly Row[]): string {
  return rows
    .map((row) => `${JSON.stringify(Object.fromEntries(FIELDS.map((field) => [field, row[field]])))}\n`)
    .join('');
}

function cell(value: string | number | undefined): string {
  if (typeof value !== 'string') return String(value ?? '');
  const text = value.replace(FORMULA_BEGINS, "'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
