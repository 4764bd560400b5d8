/** Parses times of day. */
import { momentMs } from '../shared/format.ts';

/** The most times of a medicine that the server accepts. */
export const TIMES_MAX = 8;

/** Parses `8`, `8:00`, `８時30分` or `20.30` as `HH:MM`. `null` for anything else. */
export function parseTime(typed: string): string | null {
  const text = typed.normalize('NFKC').trim();
  const match = /^(\d{1,2})(?:[:.時h ]\s*(\d{1,2})?分?)?$/u.exec(text);
  if (match === null) return null;
  const [hours, minutes] = [Number(match[1]), Number(match[2] ?? 0)];
  if (hours > 23 || minutes > 59) return null;
  return `${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
}

/**
 * Parses a list of times, sorted and without duplicates. `null` if one is invalid, or there are
 * none or too many.
 */
export function parseTimes(typed: string): readonly string[] | null {
  const parts = typed.split(/[,;、，\n]/u).filter((part) => part.trim() !== '');
  const times = parts.map(parseTime);
  if (times.some((time) => time === null)) return null;
  const unique = [...new Set(times as string[])].sort();
  return unique.length === 0 || unique.length > TIMES_MAX ? null : unique;
}

/** `HH:MM` of a moment on this device's clock. */
export function clockOf(moment: string): string {
  const at = new Date(momentMs(moment));
  return [at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':');
}

/** The last moment with this time on the device's clock that is not after `nowMs`. */
export function lastClock(hour: number, minute: number, nowMs: number): number {
  const at = new Date(nowMs);
  at.setHours(hour, minute, 0, 0);
  if (at.getTime() > nowMs) at.setDate(at.getDate() - 1);
  return at.getTime();
}

/** `HH:MM` of a moment on the clock of a time zone. */
export function clockInZone(atMs: number, timeZone: string): string {
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return clock.format(atMs);
}
