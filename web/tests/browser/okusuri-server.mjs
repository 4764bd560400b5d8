/** A scripted server for the medication log, on a fixed day. */
import { named, problem } from './harness.mjs';

/** @import { Page, Route } from 'playwright-core' */

/** @typedef {Record<string, any>} Json */

/** The fixed time: an evening in Tokyo. */
export const now = Date.UTC(2026, 10, 21, 11, 5);
/** The date in Tokyo. */
export const today = '2026-11-21';
const DAY_MS = 86_400_000;

/** The date that is so many days after today, or before if negative. @param {number} days */
export const dayAt = (days) => new Date(Date.parse(today) + days * DAY_MS).toISOString().slice(0, 10);

/** The log entry of a day. @param {string} date @param {boolean} [hasBleeding] @param {string} [note] @param {boolean} [isTaken] */
export const log = (date, hasBleeding = false, note, isTaken = true) => ({
  id: `log-${date}`,
  date,
  hasBleeding,
  isTaken,
  createdAt: `${date}T12:00:00Z`,
  updatedAt: `${date}T12:00:00Z`,
  ...(note && { note }),
});

/** The data of a user after some months. */
export class OkusuriServer {
  /** Answers that replace the default ones, by method and path: `GET status`. @type {Record<string, (route: Route) => unknown>} */
  answers = {};
  /** Every change that was received, in order. @type {{ method: string, path: string, body: any }[]} */
  changes = [];
  /** Whether no request gets an answer. */
  isDown = false;
  /** Whether the browser's session is valid. */
  isSignedIn = true;
  /** The correct code. */
  code = '123456';
  /** @type {Json} */
  user = {
    id: '01890000-0000-7000-8000-000000000001',
    name: 'Mio',
    email: 'mio@example.org',
    emailVerified: true,
    timeZone: 'Asia/Tokyo',
    regimen: { kind: 'continuous' },
    asksRegimen: false,
    createdAt: '2026-01-05T10:00:00Z',
  };
  /** @type {Json} */
  status = {
    today,
    streak: 23,
    bestStreak: 31,
    consecutiveBleedingDays: 0,
    isResting: false,
    restDaysLeft: 0,
    loggedToday: false,
    lastLogOn: dayAt(-1),
  };
  /** The rest days. */
  rest = new Set([dayAt(-27), dayAt(-26), dayAt(-25), dayAt(-24)]);
  /** By date. @type {Map<string, Json>} */
  logs = new Map();
  /** @type {Json[]} */
  medicines = [
    { id: 'm1', name: 'Iron', dose: '1 tablet', times: ['08:00', '20:00'], from: dayAt(-60) },
    { id: 'm2', name: 'Vitamin D', dose: '2 drops', times: ['12:30'], from: dayAt(-20), until: dayAt(40) },
  ];
  /** @type {Json} */
  adherence = {
    ...{ from: dayAt(-29), to: today, of: 'doses', due: 80, taken: 72, rate: 0.9 },
    medicines: [
      { medicineId: 'm1', name: 'Iron', due: 60, taken: 56, rate: 56 / 60 },
      { medicineId: 'm2', name: 'Vitamin D', due: 20, taken: 16, rate: 0.8 },
    ],
  };
  /** The states of doses by path. @type {Map<string, Json>} */
  doses = new Map();
  /** @type {Json[]} */
  providers = [
    { id: 'google', name: 'Google' },
    { id: 'line', name: 'LINE' },
  ];
  /** @type {Json[]} */
  accounts = [{ provider: 'google', subject: '1184', createdAt: '2026-02-01T10:00:00Z' }];
  /** The accesses by the health administration. @type {Json[]} */
  readings = [];
  /** @type {Json[]} */
  sessions = [
    {
      id: 's1',
      isThis: true,
      createdAt: '2026-11-02T08:10:00Z',
      expiresAt: '2026-12-21T11:05:00Z',
      ipAddress: '203.0.113.9',
      userAgent:
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Mobile/15E148 Safari/604.1',
    },
    {
      id: 's2',
      isThis: false,
      createdAt: '2026-10-11T19:30:00Z',
      expiresAt: '2026-12-01T19:30:00Z',
      ipAddress: '2001:db8::17',
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
    },
  ];
  /** @type {Json} */
  reminder = { isEnabled: true, time: '22:00', doses: { isEnabled: true, isMailed: true, nextAt: null } };

  constructor() {
    for (let days = -78; days < 0; days++) {
      const date = dayAt(days);
      // Three days of bleeding, four rest days, and an earlier missed day.
      if (this.rest.has(date) || days === -59) continue;
      const flow = ['light', 'heavy', 'medium'][days + 30];
      const note = days === -12 ? 'Half an hour late, after the concert' : undefined;
      const symptoms = { '-29': ['cramps', 'tiredness'], '-28': ['cramps'], '-5': ['headache'] }[String(days)];
      this.logs.set(date, {
        ...log(date, flow !== undefined, note),
        ...(flow && { flow }),
        ...(symptoms && { symptoms }),
      });
    }
  }

  /** Records today. @param {boolean} hasBleeding */
  note(hasBleeding) {
    this.logs.set(today, log(today, hasBleeding));
    Object.assign(this.status, { streak: 24, loggedToday: true, consecutiveBleedingDays: hasBleeding ? 1 : 0 });
  }

  /** Makes today the second of four rest days. */
  restNow() {
    for (const days of [-1, 0, 1, 2]) {
      this.logs.delete(dayAt(days));
      this.rest.add(dayAt(days));
    }
    for (const days of [-4, -3, -2]) this.logs.set(dayAt(days), log(dayAt(days), true));
    Object.assign(this.status, { streak: 0, isResting: true, restDaysLeft: 3 });
  }

  /** A new user on the first day. */
  begin() {
    this.logs.clear();
    this.rest.clear();
    this.medicines = [];
    this.accounts = [];
    this.sessions = this.sessions.slice(0, 1);
    this.user['name'] = null;
    Object.assign(this.status, { streak: 0, bestStreak: 0, lastLogOn: undefined });
  }

  /** For `prepare`. @param {Page} page */
  async install(page) {
    await page.clock.setFixedTime(now);
    // It is no local stack. The dates of a real one would move the page's clock.
    await page.context().route('**/_local/**', (route) => route.fulfill({ status: 404 }));
    // Routes the context, because a worker's requests do not belong to the page.
    await page.context().route(
      (url) => url.pathname.startsWith('/okusuri/api/'),
      (route) => this.answer(route),
    );
  }

  /** @param {Route} route */
  async answer(route) {
    const request = route.request();
    const url = new URL(request.url());
    const path = url.pathname.slice('/okusuri/api/'.length);
    const method = request.method();
    if (this.isDown) return route.abort();
    if (method !== 'GET') {
      const isJson = (await request.headerValue('content-type')) === 'application/json';
      this.changes.push({ method, path, body: isJson ? request.postDataJSON() : request.postData() });
    }
    const special = this.answers[`${method} ${path}`];
    if (special) return special(route);
    if (path.startsWith('sign-in/')) return this.#signIn(route, path);
    if (!this.isSignedIn) return route.fulfill(named(401, 'not-signed-in', 'Nobody is signed in'));
    return this.#ofUser(route, method, path, url.searchParams);
  }

  /** @param {Route} route @param {string} path */
  #signIn(route, path) {
    if (path === 'sign-in/providers') return route.fulfill({ json: { items: this.providers } });
    if (path === 'sign-in/email') return route.fulfill({ status: 202, json: {} });
    if (route.request().postDataJSON().code !== this.code) {
      return route.fulfill(named(401, 'wrong-code', 'The code is wrong', { attemptsLeft: 3 }));
    }
    this.isSignedIn = true;
    return route.fulfill({ json: this.user });
  }

  /** @param {Route} route @param {string} method @param {string} path @param {URLSearchParams} query */
  #ofUser(route, method, path, query) {
    const body = method === 'PUT' || (method === 'POST' && path !== 'import') ? route.request().postDataJSON() : null;
    const [root, ...rest] = path.split('/');
    const gone = () => route.fulfill(named(404, 'not-found', 'It is not there'));
    switch (`${method} ${root}`) {
      case 'POST sign-out':
        this.isSignedIn = false;
        return route.fulfill({ status: 204 });
      case 'GET me':
        if (rest.length === 0) return route.fulfill({ json: this.user });
        return route.fulfill({ json: { items: rest[0] === 'accounts' ? this.accounts : this.readings } });
      case 'PUT me':
        Object.assign(this.user, body, body.regimen && { asksRegimen: false });
        return route.fulfill({ json: this.user });
      case 'DELETE me':
        if (rest.length > 0) this.accounts = this.accounts.filter(({ provider }) => provider !== rest[1]);
        else this.isSignedIn = false;
        return route.fulfill({ status: 204 });
      case 'GET sessions':
        return route.fulfill({ json: { items: this.sessions } });
      case 'DELETE sessions':
        this.sessions = this.sessions.filter(({ id }) => id !== rest[0]);
        return route.fulfill({ status: 204 });
      case 'GET status':
        return route.fulfill({ json: this.status });
      case 'GET calendar':
        return route.fulfill({ json: this.#month(rest[0] ?? '') });
      case 'GET logs': {
        if (rest[0]) {
          const one = this.logs.get(rest[0]);
          return one ? route.fulfill({ json: one }) : gone();
        }
        const all = [...this.logs.values()].sort((a, b) => (a['date'] < b['date'] ? 1 : -1));
        const from = Number(query.get('cursor') ?? 0);
        const end = from + Number(query.get('limit'));
        return route.fulfill({
          json: { items: all.slice(from, end), ...(end < all.length && { cursor: String(end) }) },
        });
      }
      case 'PUT logs':
        return this.#putLog(route, rest[0] ?? '', body);
      case 'DELETE logs':
        if (!this.logs.delete(rest[0] ?? '')) return gone();
        if (rest[0] === today) Object.assign(this.status, { streak: 23, loggedToday: false });
        return route.fulfill({ json: { status: this.status } });
      case 'GET medicines':
        return route.fulfill({ json: { items: this.medicines } });
      case 'POST medicines':
        this.medicines = [...this.medicines, { id: `m${this.medicines.length + 1}`, ...body }];
        return route.fulfill({ status: 201, json: this.medicines.at(-1) });
      case 'PUT medicines':
        if (rest[1] === 'packs') {
          const stock = this.medicines.find(({ id }) => id === rest[0])?.['stock'];
          if (Number(rest[2]) > stock.packs) Object.assign(stock, { left: stock.left + stock.packSize, isLow: false });
          Object.assign(stock, { packs: Number(rest[2]), runsOutOn: undefined });
          return route.fulfill({ json: {} });
        }
        this.medicines = this.medicines.map((one) => (one['id'] === rest[0] ? { id: rest[0], ...body } : one));
        return route.fulfill({ json: body });
      case 'DELETE medicines':
        this.medicines = this.medicines.filter(({ id }) => id !== rest[0]);
        return route.fulfill({ status: 204 });
      case 'GET doses':
        return route.fulfill({ json: { date: query.get('date'), items: this.#dosesOf(query.get('date') ?? '') } });
      case 'PUT doses':
        this.doses.set(rest.join('/'), {
          ...body,
          ...(body.at && { takenAt: body.at }),
          ...(body.minutes && { snoozedUntil: new Date(now + body.minutes * 60_000).toISOString() }),
        });
        return route.fulfill({ json: {} });
      case 'DELETE doses':
        return this.doses.delete(rest.join('/')) ? route.fulfill({ status: 204 }) : gone();
      case 'GET adherence':
        return route.fulfill({ json: this.adherence });
      case 'GET reminder':
        return route.fulfill({ json: this.reminder });
      case 'PUT reminder':
        this.reminder = body;
        return route.fulfill({ json: body });
      case 'GET export':
        return query.has('format')
          ? route.fulfill({
              contentType: 'text/csv',
              body: 'date,has_bleeding,is_taken,note\n2026-11-20,false,true,\n',
            })
          : route.fulfill({ json: { items: [this.user, ...this.logs.values()] } });
      default:
        return route.fulfill(problem(404, `No such route: ${method} ${path}`));
    }
  }

  /** @param {Route} route @param {string} date @param {Json} body */
  #putLog(route, date, body) {
    const isNew = !this.logs.has(date);
    const { note, flow, symptoms } = { ...this.logs.get(date), ...body };
    const { hasBleeding, isTaken = true } = body;
    if (date === today && isTaken) this.note(hasBleeding);
    this.logs.set(date, {
      ...log(date, hasBleeding, note ?? undefined, isTaken),
      ...(flow && hasBleeding && { flow }),
      ...(symptoms?.length && { symptoms }),
    });
    return route.fulfill({ status: isNew ? 201 : 200, json: { log: this.logs.get(date), status: this.status } });
  }

  /** @param {string} month */
  #month(month) {
    const first = [...this.logs.keys()].sort()[0] ?? '9999';
    const days = [];
    for (let ms = Date.parse(`${month}-01`); new Date(ms).toISOString().startsWith(month); ms += DAY_MS) {
      const date = new Date(ms).toISOString().slice(0, 10);
      const noted = this.logs.get(date);
      const taken = noted?.['isTaken'] ? (noted['hasBleeding'] ? 'bleeding' : 'taken') : undefined;
      const untaken = date > today ? 'future' : date === today || date < first ? 'none' : 'missed';
      const state = this.rest.has(date) && date <= today ? 'rest' : (taken ?? untaken);
      days.push({ date, state, ...(noted && { log: noted }) });
    }
    return { month, today, days, medicines: this.adherence.medicines ?? [] };
  }

  /** @param {string} date */
  #dosesOf(date) {
    /** @param {Json} medicine @returns {string[]} */
    const timesOf = ({ id, times }) => {
      if (times.length > 0) return times;
      const recorded = [...this.doses.keys()].map((path) => path.split('/'));
      return recorded.flatMap(([day, time, of]) => (day === date && of === id && time ? [time] : []));
    };
    return this.medicines
      .flatMap((medicine) => timesOf(medicine).map((time) => ({ medicine, time })))
      .map(({ medicine: { id, name, dose, times }, time }) => {
        const noted = this.doses.get(`${date}/${time}/${id}`);
        const state = noted?.['state'] ?? (time < '17:05' ? 'missed' : 'due');
        const isAsNeeded = times.length === 0 && { isAsNeeded: true };
        return { date, time, medicineId: id, name, dose, ...noted, state, ...isAsNeeded };
      })
      .sort((a, b) => (a.time < b.time ? -1 : 1));
  }
}
