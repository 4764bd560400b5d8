/** A short device name from a user agent string. */

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'Mac'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
];

/** Such as `Firefox · Windows`. `null` when nothing is recognised. */
export function deviceName(userAgent: string | null | undefined): string | null {
  const named = (kinds: typeof BROWSERS): string | undefined => kinds.find(([sign]) => sign.test(userAgent ?? ''))?.[1];
  const known = [named(BROWSERS), named(SYSTEMS)].filter((name) => name !== undefined);
  return known.length === 0 ? null : known.join(' · ');
}
