/** What the server last said, with what somebody has written since laid over it. */
import { dayCount } from '../shared/days.ts';
import type { Day, Dose, DoseState, Log, Status } from './api.ts';
import type { Write } from './writes.ts';

/** A thing that may be on its way. */
export type Shown<T> = T & { readonly isWaiting: boolean };

/** The path of a day's log. */
export const logPath = (date: string): string => `logs/${date}`;
/** The path of a dose. */
export const dosePath = ({ date, time, medicineId }: Pick<Dose, 'date' | 'time' | 'medicineId'>): string =>
  `doses/${date}/${time}/${encodeURIComponent(medicineId)}`;

/** A day as it will be. Whether it then rests or how long its streak is, the server alone says. */
export function dayWith(day: Day, today: string, waiting: readonly Write[]): Shown<Day> {
  const write = lastOf(logPath(day.date), waiting);
  if (write === null) return { ...day, isWaiting: false };
  const log = logOf(write, day.date, day.log);
  const state = !log?.isTaken ? (day.date === today ? 'none' : 'missed') : log.hasBleeding ? 'bleeding' : 'taken';
  return { date: day.date, log, state: day.state === 'rest' ? 'rest' : state, isWaiting: true };
}

/** What a standing that was told on an earlier day means on this one, as without a network: a rest goes on by itself, and comes to its end. */
export function statusOn(status: Status, today: string): Status {
  const nights = Math.max(0, dayCount({ from: status.today, to: today }) - 1);
  if (nights === 0) return status;
  // A rest that had not begun begins the day after.
  const rested = status.isResting ? nights : nights - 1;
  const restDaysLeft = Math.max(0, status.restDaysLeft - rested);
  return { ...status, today, isResting: restDaysLeft > 0, restDaysLeft };
}

/** The log that a write makes of the one before; `null` when it removes it. A note that is not spoken of stays. */
export function logOf({ method, body }: Write, date: string, before: Log | null): Log | null {
  if (method === 'DELETE') return null;
  const note = body?.['note'];
  return {
    date,
    hasBleeding: body?.['hasBleeding'] === true,
    isTaken: body?.['isTaken'] !== false,
    note: note === undefined ? (before?.note ?? null) : typeof note === 'string' ? note : null,
  };
}

/** A dose as it will be. */
export function doseWith(dose: Dose, waiting: readonly Write[]): Shown<Dose> {
  const write = lastOf(dosePath(dose), waiting);
  if (write === null) return { ...dose, isWaiting: false };
  const state = write.method === 'DELETE' ? 'due' : (write.body?.['state'] as DoseState);
  return { ...dose, state, snoozedUntil: null, isWaiting: true };
}

/** The last write of a thing. */
export function lastOf(path: string, waiting: readonly Write[]): Write | null {
  return waiting.findLast((write) => write.path === path) ?? null;
}
