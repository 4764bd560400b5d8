/** The stock of a medicine: what a user enters, and when to buy. */
import { dayCount } from '../shared/days.ts';
import type { Schema } from '../shared/api.ts';
import type { Medicine } from './api.ts';

/** The stock of a medicine, as the server takes it. */
export type StockDraft = NonNullable<Schema<'NewMedicine'>['stock']>;

/** The bounds of the server. */
export const UNITS_MAX = 10_000;
const WARN_DAYS_MAX = 90;

/** The fields of the form. */
export interface StockFields {
  readonly left: string;
  readonly perDose: string;
  readonly packSize: string;
  readonly warnDays: string;
}

/**
 * Reads the fields. A number of units that is still as it was shown is left out, because a dose may
 * have been taken since. `null` if a field is invalid.
 */
export function parseStock(fields: StockFields, shownLeft: string | null): StockDraft | null {
  const number = (text: string, min: number, max: number): number => {
    const digits = text.normalize('NFKC').trim();
    const value = /^\d{1,5}$/u.test(digits) ? Number(digits) : NaN;
    return value >= min && value <= max ? value : NaN;
  };
  const left = number(fields.left, 0, UNITS_MAX);
  const perDose = number(fields.perDose, 1, UNITS_MAX);
  const packSize = number(fields.packSize, 1, UNITS_MAX);
  const warnDays = number(fields.warnDays, 0, WARN_DAYS_MAX);
  if ([left, perDose, packSize, warnDays].some(Number.isNaN)) return null;
  return { ...(fields.left === shownLeft ? {} : { left }), perDose, packSize, warnDays };
}

/** The days after today with a full dose. `null` if no day is known. */
export function daysLeft(stock: Medicine['stock'], today: string): number | null {
  const to = stock?.runsOutOn;
  return to === undefined ? null : Math.max(0, dayCount({ from: today, to }) - 1);
}
