/** Counts the days of the page for the doctor. The states of the days come from the server. */
import { addDays, type DayRange } from '../shared/days.ts';
import type { Schema } from '../shared/api.ts';
import type { Day } from './api.ts';
import { SYMPTOMS, type Symptom } from './symptoms.ts';

type ReportDay = Day & Pick<Schema<'Calendar'>['days'][number], 'doses'>;

/** What a day shows in the table of days. `null` for a day without an entry. */
export type DayMarkName = 'taken' | 'bleeding' | 'bleedingOnly' | 'rest' | 'missed';

export function markOf({ state, log }: Pick<ReportDay, 'state' | 'log'>): DayMarkName | null {
  if (log?.isTaken) return log.hasBleeding ? 'bleeding' : 'taken';
  if (log?.hasBleeding) return 'bleedingOnly';
  return state === 'rest' || state === 'missed' ? state : null;
}

/** The number of days of each kind, and of doses. */
export interface MonthFigures {
  readonly taken: number;
  readonly missed: number;
  readonly rest: number;
  readonly bleeding: number;
  readonly dosesTaken: number;
  readonly dosesPlanned: number;
}

export function figuresOf(days: readonly ReportDay[]): MonthFigures {
  const count = (is: (day: ReportDay) => boolean | undefined): number => days.filter(is).length;
  const sum = (of: (day: ReportDay) => number | undefined): number =>
    days.reduce((all, day) => all + (of(day) ?? 0), 0);
  return {
    taken: count(({ log }) => log?.isTaken),
    missed: count(({ state, log }) => state === 'missed' && !log?.isTaken),
    rest: count(({ state, log }) => state === 'rest' && !log?.isTaken),
    bleeding: count(({ log }) => log?.hasBleeding),
    dosesTaken: sum(({ doses }) => doses?.taken),
    dosesPlanned: sum(({ doses }) => doses?.planned),
  };
}

/** The days of bleeding in a row, newest first. `days` are in order. */
export function bleedingPeriods(days: readonly ReportDay[]): readonly DayRange[] {
  const periods: { from: string; to: string }[] = [];
  for (const { date, log } of days) {
    if (!log?.hasBleeding) continue;
    const last = periods.at(-1);
    if (last !== undefined && addDays(last.to, 1) === date) last.to = date;
    else periods.push({ from: date, to: date });
  }
  return periods.reverse();
}

/** The number of days with each symptom in each month. A symptom without days is left out. */
export function symptomMonths(
  months: readonly { readonly days: readonly ReportDay[] }[],
): readonly { readonly symptom: Symptom; readonly counts: readonly number[] }[] {
  const daysWith = (symptom: Symptom): number[] =>
    months.map(({ days }) => days.filter(({ log }) => log?.symptoms?.includes(symptom)).length);
  return SYMPTOMS.map((symptom) => ({ symptom, counts: daysWith(symptom) })).filter(({ counts }) =>
    counts.some((count) => count > 0),
  );
}

/** The taken and due doses of a medicine in each month of a report, and those as needed. */
export interface MedicineMonths {
  readonly medicineId: string;
  readonly name: string;
  readonly shares: readonly { readonly taken: number; readonly due: number; readonly asNeeded: number }[];
}

/** Each medicine with its months. A month without doses of it has none due. */
export function medicineMonths(
  months: readonly Partial<Pick<Schema<'Calendar'>, 'medicines'>>[],
): readonly MedicineMonths[] {
  // A response that an earlier version of the page has cached has no `medicines`.
  const all = months.map(({ medicines = [] }) => medicines);
  const names = new Map(all.flat().map(({ medicineId, name }) => [medicineId, name]));
  return [...names].map(([medicineId, name]) => ({
    medicineId,
    name,
    shares: all.map(
      (medicines) => medicines.find((one) => one.medicineId === medicineId) ?? { taken: 0, due: 0, asNeeded: 0 },
    ),
  }));
}

/** A figure of planned doses, and the number of doses as needed: `3/4 + 2×`, `2×`. */
export function withAsNeeded(figure: string, due: number, asNeeded: string): string {
  if (asNeeded === '0') return figure;
  return due === 0 ? `${asNeeded}×` : `${figure} + ${asNeeded}×`;
}
