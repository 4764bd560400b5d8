/** Parses times of day, and finds them on the clock of a time zone. */
import { formatInZone } from './months.ts';

/** The most times of a medicine that the server accepts. */
export const TIMES_MAX = 8;

const DAY_MIN = 24 * 60;

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

/** `HH:MM` of a moment on the clock of a time zone. */
export function clockInZone(atMs: number, timeZone: string): string {
  return formatInZone('en-GB', timeZone, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(atMs);
}

/**
 * The last moment with this time, `HH:MM`, on the clock of a time zone that is not after `nowMs`; a
 * moment near it if the clock skipped it.
 */
export function lastClock(time: string, nowMs: number, timeZone: string): number {
  const minutes = (clock: string): number => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));
  const back = (minutes(clockInZone(nowMs, timeZone)) - minutes(time) + DAY_MIN) % DAY_MIN;
  const atMs = (Math.floor(nowMs / 60_000) - back) * 60_000;
  // The clock may have been changed since then: by half an hour, one hour or two.
  const moments = [0, -30, 30, -60, 60, -120, 120].map((change) => atMs + change * 60_000);
  return moments.find((ms) => ms <= nowMs && clockInZone(ms, timeZone) === time) ?? atMs;
}
