/** A scripted server for the clicks page, with a fixed time. It counts the clicks that it receives. */
import { becomes, problem } from './harness.mjs';

/** @import { Page, Route } from 'playwright-core' */

/**
 * A JSON object whose members only the test knows.
 *
 * @typedef {Record<string, any>} Json
 */

/** The fixed time, a Saturday in week 47. */
export const now = Date.UTC(2026, 10, 21, 14, 5);
/** The UTC day of the fixed time. */
export const today = '2026-11-21';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Targets as strangers choose them: long, without spaces, in any script and direction. */
export const STRANGE_TARGETS = [
  'w'.repeat(100),
  '潮'.repeat(100),
  '🌊'.repeat(100),
  'الموج '.repeat(16).trim(),
  '\u202Eunfinished override',
  '<img src=x onerror="document.title=1">',
  '\u200B\u3164',
  `tall${'\u0301'.repeat(90)}`,
  'a'.repeat(50) + ' ' + 'b'.repeat(49),
];

/** The picture of a counter. */
const COUNTER =
  '<svg xmlns="http://www.w3.org/2000/svg" width="130" height="56"><rect width="130" height="56" fill="#888"/></svg>';

/** The API of the clicks. */
export class ClicksServer {
  /** The targets of today: their clicks and unique visitors. @type {[string, number, number][]} */
  targets = [
    ['tide', 168, 21],
    ['/pricing', 96, 34],
    ['signup-button', 61, 40],
    ['/docs/getting-started', 24, 9],
    ['灯台', 12, 5],
    ['newsletter', 7, 6],
    ['/about', 3, 2],
  ];
  /** The same of each earlier day. @type {[string, number, number][]} */
  earlierTargets = [];
  /** All clicks of today, also those without a target. */
  clicksToday = 386;
  total = 48_213;
  /** The bodies of the received clicks. @type {Json[]} */
  received = [];
  /** The requested paths with their queries. @type {string[]} */
  asked = [];
  /** The prefixes of the paths that fail. @type {string[]} */
  failing = [];
  /** The first day with clicks; empty: all days have clicks. */
  firstDay = '';
  /** Whether there are clicks in the past. */
  isEmpty = false;

  /** Installs the server; for `prepare`. @param {Page} page */
  async install(page) {
    await page.clock.setFixedTime(now);
    // It is no local stack. The dates of a real one would move the page's clock.
    await page.route('**/_local/**', (route) => route.fulfill({ status: 404 }));
    await page.route(
      (url) => /^\/(stats|clicks)(\/|$)/.test(url.pathname),
      (route) => this.#answer(route),
    );
  }

  /** Counts clicks on a target. @param {string | undefined} target @param {number} [clicks] */
  count(target, clicks = 1) {
    this.clicksToday += clicks;
    this.total += clicks;
    if (target === undefined) return;
    const known = this.targets.find(([name]) => name === target);
    if (known) known[1] += clicks;
    else this.targets.push([target, clicks, 1]);
  }

  /** Waits until a path has been requested. @param {string} path */
  asks(path) {
    return becomes(() => this.asked.includes(path), true);
  }

  /** @param {Route} route */
  #answer(route) {
    const request = route.request();
    const { pathname, search, searchParams } = new URL(request.url());
    this.asked.push(decodeURIComponent(pathname + search));
    if (this.failing.some((path) => pathname.startsWith(path))) {
      return route.fulfill(problem(503, 'The statistics are busy'));
    }
    if (request.method() === 'POST') {
      const body = request.postDataJSON();
      this.received.push(body);
      this.count(body.target, body.clickCount);
      return route.fulfill({ status: 201, json: { ...body, createDateTime: new Date(now).toISOString() } });
    }
    const [, , kind = '', period] = pathname.split('/');
    if (kind === 'total') return route.fulfill({ json: { totalClicks: this.total } });
    if (kind === 'visitors') return route.fulfill({ json: { totalClicks: this.total, uniqueUsers: 3_107 } });
    if (kind === 'counter.svg') return route.fulfill({ contentType: 'image/svg+xml', body: COUNTER });
    if (kind === 'targets') return this.#rows(route, this.#topTargets(searchParams));
    const [name, rows] = this.#series(kind, period, searchParams);
    if (period === undefined) return this.#rows(route, rows);
    return route.fulfill({ json: rows[0] ?? { [name]: period, totalClicks: 0, uniqueUsers: 0 } });
  }

  /** Rows as JSON or CSV. @param {Route} route @param {Json[]} rows */
  #rows(route, rows) {
    if (route.request().headers()['accept'] !== 'text/csv') return route.fulfill({ json: { items: rows } });
    const lines = [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))];
    return route.fulfill({ contentType: 'text/csv', body: lines.map((line) => `${line.join(',')}\r\n`).join('') });
  }

  /** The targets of today, or of an earlier day. @param {URLSearchParams} query */
  #topTargets(query) {
    return (query.get('date') === today ? this.targets : this.earlierTargets)
      .toSorted((a, b) => b[1] - a[1])
      .slice(0, Number(query.get('limit')))
      .map(([target, totalClicks, uniqueUsers]) => ({ target, totalClicks, uniqueUsers }));
  }

  /**
   * The periods of a range, and the member with their names.
   *
   * @param {string} kind
   * @param {string | undefined} period
   * @param {URLSearchParams} query
   * @returns {[string, Json[]]}
   */
  #series(kind, period, query) {
    const [from, to] = [period ?? query.get('from') ?? '', period ?? query.get('to') ?? ''];
    const target = query.get('target');
    const part = target === null ? 1 : (this.targets.find(([name]) => name === target)?.[1] ?? 0) / this.clicksToday;
    const row = (/** @type {Json} */ name, /** @type {number} */ clicks) => {
      const totalClicks = this.isEmpty ? 0 : Math.round(clicks * part);
      return { ...name, totalClicks, uniqueUsers: Math.ceil(totalClicks / 7) };
    };
    const day = (/** @type {number} */ ms) => {
      if (ms === Date.parse(today)) return this.clicksToday;
      return ms < Date.parse(this.firstDay) ? 0 : Math.round(320 + 120 * Math.sin(ms / DAY_MS / 1.7));
    };
    const steps = (/** @type {number} */ first, /** @type {number} */ last, /** @type {number} */ step) =>
      Array.from({ length: (last - first) / step + 1 }, (_, i) => first + i * step);
    switch (kind) {
      case 'hourly': {
        const hours = steps(Date.parse(from), Date.parse(to) + 23 * HOUR_MS, HOUR_MS);
        // The last hour of each day has the rest, so that the hours add up to the day.
        const clicks = (/** @type {number} */ ms) => {
          const first = ms - (ms % DAY_MS);
          const last = Math.min(first + 23 * HOUR_MS, now - (now % HOUR_MS));
          const wave = (/** @type {number} */ hour) =>
            Math.floor((day(first) / ((last - first) / HOUR_MS + 1)) * (0.8 + 0.2 * Math.sin(hour / HOUR_MS / 4)));
          if (ms !== last) return ms > now ? 0 : wave(ms);
          return day(first) - steps(first, last - HOUR_MS, HOUR_MS).reduce((sum, hour) => sum + wave(hour), 0);
        };
        return ['hour', hours.map((ms) => row({ hour: new Date(ms).toISOString().slice(0, 13) }, clicks(ms)))];
      }
      case 'daily': {
        const days = steps(Date.parse(from), Date.parse(to), DAY_MS);
        return ['date', days.map((ms) => row({ date: new Date(ms).toISOString().slice(0, 10) }, day(ms)))];
      }
      case 'weekly': {
        const names = weeks(from, to);
        return ['week', names.map((week, i) => row({ week }, 2_100 + 300 * Math.sin(i)))];
      }
      default: {
        const names = months(from, to);
        return ['month', names.map((month, i) => row({ month }, 9_400 + 1_800 * Math.sin(i)))];
      }
    }
  }
}

/** @param {string} from @param {string} to */
function months(from, to) {
  const [first = 0, last = 0] = [from, to].map((month) => Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1);
  return Array.from({ length: last - first + 1 }, (_, i) => {
    const month = first + i;
    return `${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, '0')}`;
  });
}

/** The ISO weeks of a range. Of the years of the tests, 2026 has 53. @param {string} from @param {string} to */
function weeks(from, to) {
  const all = [2024, 2025, 2026].flatMap((year) =>
    Array.from({ length: year === 2026 ? 53 : 52 }, (_, i) => `${year}-W${String(i + 1).padStart(2, '0')}`),
  );
  return all.filter((week) => week >= from && week <= to);
}
