/** Parses times of day. */

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
