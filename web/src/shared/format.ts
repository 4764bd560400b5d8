/** Numbers and UTC days for reading, by locale. */

/** `1,234` */
export function formatCount(locale: string, count: number): string {
  return new Intl.NumberFormat(locale).format(count);
}

/** `1.2K` in narrow places. */
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

/** `2 Nov` */
export function formatDayShort(locale: string, day: string): string {
  return format(locale, day, { day: 'numeric', month: 'short' });
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
  // A click that a foreign client wrote may hold anything; better its own words than none.
  if (Number.isNaN(epochMs)) return createDateTime;
  return (
    new Intl.DateTimeFormat(locale, {
      timeZone: 'UTC',
      dateStyle: 'medium',
    }).format(epochMs) + `, ${new Date(epochMs).toISOString().slice(11, 23)}`
  );
}

/** Days and months are read as UTC midnight, so they must be shown in UTC too. */
function format(locale: string, period: string, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' }).format(Date.parse(period));
}
