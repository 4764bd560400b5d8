/** Formats numbers, days and times by locale. */
import type { DayRange } from './days.ts';

/** `1,234` */
export function formatCount(locale: string, count: number): string {
  return new Intl.NumberFormat(locale).format(count);
}

/** `1.2K`, for narrow places. */
export function formatCountShort(locale: string, count: number): string {
  return new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 }).format(count);
}

/** `Sun, 2 Nov 2025` */
export function formatDay(locale: string, day: string): string {
  return format(locale, day, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' });
}

/** `Sun, 2 Nov` */
export function formatDayOfYear(locale: string, day: string): string {
  return format(locale, day, { weekday: 'short', day: 'numeric', month: 'short' });
}

/** `28 Oct – 2 Nov 2025` */
export function formatDays(locale: string, { from, to }: DayRange): string {
  const days = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
  return days.formatRange(Date.parse(from), Date.parse(to));
}

/** `2 Nov` */
export function formatDayShort(locale: string, day: string): string {
  return format(locale, day, { day: 'numeric', month: 'short' });
}

/** `Sun, 2 Nov 2025, 09:00`, for an hour like `2025-11-02T09` */
export function formatHour(locale: string, hour: string): string {
  const day = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' } as const;
  return format(locale, `${hour}:00Z`, { ...day, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}

/** `09:00`, for an hour like `2025-11-02T09` */
export function formatHourShort(locale: string, hour: string): string {
  return format(locale, `${hour}:00Z`, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}

/** `November 2025` */
export function formatMonth(locale: string, month: string): string {
  return format(locale, month, { month: 'long', year: 'numeric' });
}

/** `Nov 25` */
export function formatMonthShort(locale: string, month: string): string {
  return format(locale, month, { month: 'short', year: '2-digit' });
}

/** `2 Nov 2025, 10:30:00.123` */
export function formatTime(locale: string, createDateTime: string): string {
  const epochMs = Date.parse(createDateTime);
  // Another client may have stored any text as the time; the text itself is shown then.
  if (Number.isNaN(epochMs)) return createDateTime;
  return (
    new Intl.DateTimeFormat(locale, {
      timeZone: 'UTC',
      dateStyle: 'medium',
    }).format(epochMs) + `, ${new Date(epochMs).toISOString().slice(11, 23)}`
  );
}

/**
 * A day or a month is parsed as UTC midnight, so that another time zone could show the day before.
 */
function format(locale: string, period: string, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' }).format(Date.parse(period));
}

/**
 * Epoch milliseconds of an API time. It has nine decimal places, and some browsers cannot parse
 * that many.
 */
export function momentMs(moment: string): number {
  return Date.parse(moment.replace(/(\.\d{3})\d+/, '$1'));
}

/** `3 Nov 2026, 10:30`, in the reader's time zone. */
export function formatMoment(locale: string, epochMs: number): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).format(epochMs);
}

/** `Tuesday 3 November 2026 at 10:30:05 CET`, in the reader's time zone. */
export function formatMomentFully(locale: string, epochMs: number): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'long' }).format(epochMs);
}

/** `3 Nov 2026`, in the reader's time zone. */
export function formatDate(locale: string, epochMs: number): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium' }).format(epochMs);
}

/** `Tuesday, 3 November`, in the reader's time zone; with the year if it is not the current one. */
export function formatWeekday(locale: string, epochMs: number, nowMs: number): string {
  const thisYear = new Date(epochMs).getFullYear() === new Date(nowMs).getFullYear();
  return new Intl.DateTimeFormat(locale, {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    ...(thisYear ? {} : { year: 'numeric' }),
  }).format(epochMs);
}

/** `10:30`, in the reader's time zone or the given one. */
export function formatClock(locale: string, epochMs: number, timeZone?: string): string {
  return new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', timeZone }).format(epochMs);
}

/** `5 minutes ago`. A time in the future, which a wrong clock can cause, counts as now. */
export function formatAgo(locale: string, epochMs: number, nowMs: number): string {
  const words = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  const seconds = Math.min(0, Math.round((epochMs - nowMs) / 1_000));
  for (const [unit, size] of [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
  ] as const) {
    if (-seconds >= size) return words.format(Math.trunc(seconds / size), unit);
  }
  return words.format(-seconds < 10 ? 0 : seconds, 'second');
}

/** `−25%`, `+5%`: a relative change with its sign. */
export function formatShare(locale: string, share: number): string {
  const digits = Math.abs(share) < 0.0995 ? 1 : 0;
  const words = new Intl.NumberFormat(locale, {
    style: 'percent',
    signDisplay: 'exceptZero',
    maximumFractionDigits: digits,
  });
  return words.format(share).replace('-', '−');
}

/** `+5`, `−3`: a number with its sign. */
export function formatSigned(locale: string, count: number): string {
  return new Intl.NumberFormat(locale, { signDisplay: 'exceptZero' }).format(count).replace('-', '−');
}
