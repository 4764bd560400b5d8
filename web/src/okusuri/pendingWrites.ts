/** Applies unread writes to the last data from the server, so that the page shows them at once. */
import { dayCount } from '../shared/days.ts';
import type { Day, Dose, Log, Medicine, Status } from './api.ts';
import type { Write } from './writeQueue.ts';

/** An item, and whether a write to it is pending. */
export type WithPending<T> = T & { readonly isPending: boolean };

/** The API path of a day's log entry. */
export const logPath = (date: string): string => `logs/${date}`;
/** The API path of a dose. */
export const dosePath = ({ date, time, medicineId }: Pick<Dose, 'date' | 'time' | 'medicineId'>): string =>
  `doses/${date}/${time}/${encodeURIComponent(medicineId)}`;

/** A day with its unread write applied. Only the server calculates rest days and streaks. */
export function dayWithPending(day: Day, today: string, unread: readonly Write[]): WithPending<Day> {
  const write = lastWriteTo(logPath(day.date), unread);
  if (write === null) return { ...day, isPending: false };
  const log = logAfter(write, day.date, day.log ?? null);
  const state = !log?.isTaken ? (day.date === today ? 'none' : 'missed') : log.hasBleeding ? 'bleeding' : 'taken';
  return {
    date: day.date,
    ...(log && { log }),
    state: day.state === 'rest' ? 'rest' : state,
    isPending: !write.isSent,
  };
}

/**
 * Carries a cached status forward to a later day, for use without a network. A rest continues by
 * itself and ends.
 */
export function statusOn(status: Status, today: string): Status {
  const nights = Math.max(0, dayCount({ from: status.today, to: today }) - 1);
  if (nights === 0) return status;
  // A rest that has not begun begins on the next day.
  const rested = status.isResting ? nights : nights - 1;
  const restDaysLeft = Math.max(0, status.restDaysLeft - rested);
  return { ...status, today, isResting: restDaysLeft > 0, restDaysLeft };
}

/** The day of a stored log. */
export function dayOfLog(log: Log): Day {
  return { date: log.date, log, state: !log.isTaken ? 'none' : log.hasBleeding ? 'bleeding' : 'taken' };
}

/**
 * The log entry after a write; `null` when the write removes it. A note, a flow or symptoms that
 * the write lacks stay.
 */
export function logAfter({ method, body }: Write, date: string, before: Log | null): Log | null {
  if (method === 'DELETE') return null;
  const { note, flow, symptoms } = { ...before, ...body } as Partial<Log>;
  const hasBleeding = body?.['hasBleeding'] === true;
  return {
    date,
    hasBleeding,
    isTaken: body?.['isTaken'] !== false,
    ...(note && { note }),
    ...(hasBleeding && flow && { flow }),
    ...(symptoms && symptoms.length > 0 && { symptoms }),
  };
}

/**
 * The details that a write to a day must repeat, because it replaces the unsent one. The server
 * keeps those that no write mentions; a removal must not bring any back.
 */
export function unsentDetails(
  date: string,
  hasBleeding: boolean,
  pending: readonly Write[],
): Readonly<Record<string, unknown>> {
  const write = lastWriteTo(logPath(date), pending);
  if (write === null) return {};
  if (write.method === 'DELETE') return { note: null, flow: null, symptoms: [] };
  const { note, flow, symptoms } = write.body ?? {};
  return {
    ...(note !== undefined && { note }),
    ...(flow !== undefined && { flow: hasBleeding ? flow : null }),
    ...(symptoms !== undefined && { symptoms }),
  };
}

/** A dose with its unread write applied. */
export function doseWithPending(dose: Dose, unread: readonly Write[]): WithPending<Dose> {
  const write = lastWriteTo(dosePath(dose), unread);
  if (write === null) return { ...dose, isPending: false };
  const state = write.method === 'DELETE' ? 'due' : (write.body?.['state'] as Dose['state']);
  const { snoozedUntil: _, takenAt: __, ...rest } = dose;
  const at = write.body?.['at'];
  return { ...rest, ...(typeof at === 'string' && { takenAt: at }), state, isPending: !write.isSent };
}

/**
 * The doses of a day with the unread writes applied, earliest first. Doses as needed are there as
 * soon as they are written, and are gone as soon as they are removed.
 */
export function dosesWithPending(
  doses: readonly Dose[],
  asNeeded: readonly Medicine[],
  date: string,
  unread: readonly Write[],
): readonly WithPending<Dose>[] {
  const known = new Set(doses.map(dosePath));
  const added = [...new Set(unread.map(({ path }) => path))].flatMap((path) => {
    const [root, day, time, id] = path.split('/');
    const medicine = asNeeded.find((one) => encodeURIComponent(one.id) === id);
    if (root !== 'doses' || day !== date || !time || !medicine || known.has(path)) return [];
    const { id: medicineId, name, dose } = medicine;
    const unknown = { date, time, medicineId, name, dose, state: 'due', dueAt: '', isAsNeeded: true } as const;
    return [doseWithPending(unknown, unread)];
  });
  return [...doses.map((dose) => doseWithPending(dose, unread)), ...added]
    .filter(({ isAsNeeded, state }) => !isAsNeeded || state === 'taken')
    .sort((a, b) => a.time.localeCompare(b.time));
}

/** The newest of these writes to a path. */
export function lastWriteTo(path: string, writes: readonly Write[]): Write | null {
  return writes.findLast((write) => write.path === path) ?? null;
}
