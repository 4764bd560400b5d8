/** The states of the medication log's page, made by a scripted server. */
import { problem } from './browser/harness.mjs';
import { dayAt, log, OkusuriServer, today } from './browser/okusuri-server.mjs';
import { named } from './browser/harness.mjs';

/** @import { Page } from 'playwright-core' */
/** @import { Scene } from './game-scenes.mjs' */

/** The addresses of the screens. */
export const okusuri = '/okusuri/';
export const calendar = '/okusuri/?view=calendar';
export const history = '/okusuri/?view=history';
export const report = '/okusuri/?view=report';
export const settings = '/okusuri/?view=settings';

/**
 * @param {string} at
 * @param {(page: Page, server: OkusuriServer) => Promise<unknown>} play
 * @param {(server: OkusuriServer) => void} [script]
 * @returns {Scene}
 */
function scene(at, play, script = () => {}) {
  /** One server for each page, because a scene runs in several. @type {WeakMap<Page, OkusuriServer>} */
  const servers = new WeakMap();
  return {
    at,
    prepare: async (page) => {
      const server = new OkusuriServer();
      script(server);
      servers.set(page, server);
      await server.install(page);
    },
    play: async (page) => {
      const server = servers.get(page);
      if (server) await play(page, server);
    },
  };
}

/** @param {OkusuriServer} server */
const signedOut = (server) => (server.isSignedIn = false);
/** @param {Page} page */
const alert = (page) => page.getByRole('alert').first().waitFor();
/** @param {Page} page */
const loaded = (page) => page.locator('[data-testid=streak] strong:not(.skeleton)').waitFor();
/** @param {Page} page */
const month = (page) => page.locator('[data-state=taken]').first().waitFor();
/** @param {Page} page */
const listed = (page) => page.locator('[data-testid=history] li').first().waitFor();
/** @param {Page} page */
const settled = async (page) => {
  await page.locator('[data-testid=medicines] li').first().waitFor();
  await page.locator('[data-testid=devices] li').first().waitFor();
};

/** @param {Page} page */
async function askForCode(page) {
  await page.getByLabel(/Email address|メールアドレス/).fill('mio@example.org');
  await page.getByRole('button', { name: /Send me a code|コードを受け取る/ }).click();
  await page.getByRole('textbox', { name: /^(Code|コード)$/ }).waitFor();
}

/** Makes the page believe that it is offline. @param {Page} page */
async function goOffline(page) {
  await page.context().setOffline(true);
  await page.getByText(/You are offline|オフラインです/).waitFor();
}

/** @type {Record<string, Scene>} */
export const scenes = {
  'okusuri-sign-in': scene(okusuri, (page) => page.getByRole('link', { name: /Google/ }).waitFor(), signedOut),
  'okusuri-sign-in-refused': scene(`${okusuri}#error=account-not-linked`, alert, signedOut),
  'okusuri-sign-in-fault': scene(
    okusuri,
    async (page) => {
      await page.getByLabel(/Email address|メールアドレス/).fill('mio');
      await page.getByRole('button', { name: /Send me a code|コードを受け取る/ }).click();
      await page.locator('[aria-invalid=true]').waitFor();
    },
    signedOut,
  ),
  'okusuri-sign-in-failing': scene(okusuri, alert, (server) => {
    server.answers['GET me'] = (route) => route.fulfill(problem(503, 'The database asks for patience'));
  }),
  'okusuri-code': scene(okusuri, askForCode, signedOut),
  'okusuri-code-wrong': scene(
    okusuri,
    async (page) => {
      await askForCode(page);
      await page.getByRole('textbox', { name: /^(Code|コード)$/ }).fill('111111');
      await alert(page);
    },
    signedOut,
  ),
  'okusuri-code-locked': scene(
    okusuri,
    async (page) => {
      await askForCode(page);
      await page.getByRole('textbox', { name: /^(Code|コード)$/ }).fill('111111');
      await alert(page);
    },
    (server) => {
      signedOut(server);
      server.answers['POST sign-in/email/verify'] = (route) =>
        route.fulfill(named(429, 'code-locked', 'Locked', { retryAfterSeconds: 2_431 }));
    },
  ),
  'okusuri-today': scene(okusuri, loaded),
  'okusuri-today-taken': scene(okusuri, loaded, (server) => server.note(false)),
  'okusuri-today-bleeding': scene(okusuri, loaded, (server) => {
    server.note(true);
    Object.assign(server.logs.get(today) ?? {}, { flow: 'medium', symptoms: ['cramps', 'tiredness'] });
  }),
  'okusuri-today-only-bleeding': scene(okusuri, loaded, (server) =>
    server.logs.set(today, log(today, true, '', false)),
  ),
  'okusuri-today-rest': scene(okusuri, loaded, (server) => server.restNow()),
  'okusuri-today-first': scene(okusuri, loaded, (server) => server.begin()),
  'okusuri-today-best': scene(okusuri, loaded, (server) => {
    server.note(false);
    Object.assign(server.status, { streak: 1_204, bestStreak: 1_204 });
  }),
  'okusuri-today-doses': scene(
    okusuri,
    async (page) => {
      await page.getByTestId('doses').locator('li').first().waitFor();
      await page.getByRole('button', { name: /^(Snooze|あとで): Vitamin D/ }).click();
    },
    (server) => {
      server.medicines.push({
        id: 'm3',
        name: 'A medicine with a name that goes on for longer than a phone is wide',
        dose: '½ tablet, with water, after the meal',
        times: ['20:30', '21:00'],
      });
      server.medicines.push({ id: 'm4', name: 'Ibuprofen', dose: '1 tablet', times: [], from: dayAt(-9) });
      server.doses.set(`${today}/16:40/m4`, { state: 'taken', takenAt: '2026-11-21T07:40:00Z' });
      const stock = { left: 13, perDose: 1, packSize: 28, warnDays: 7, packs: 2, isLow: true, runsOutOn: dayAt(6) };
      Object.assign(server.medicines[0] ?? {}, { stock });
      server.doses.set(`${today}/08:00/m1`, { state: 'taken' });
      server.doses.set(`${today}/20:30/m3`, { state: 'skipped' });
      server.doses.set(`${today}/21:00/m3`, { state: 'snoozed', snoozedUntil: '2026-11-21T13:30:00Z' });
    },
  ),
  'okusuri-today-offline': scene(okusuri, async (page) => {
    await loaded(page);
    await goOffline(page);
    await page.getByTestId('take').click();
    await page
      .getByText(/waiting to be sent|送信待ち/)
      .first()
      .waitFor();
  }),
  'okusuri-today-failing': scene(okusuri, alert, (server) => {
    server.answers['GET status'] = (route) => route.fulfill(problem(503, 'The database asks for patience'));
  }),
  'okusuri-today-refused': scene(
    okusuri,
    async (page) => {
      await loaded(page);
      await page.getByTestId('take').click();
      await alert(page);
    },
    (server) => {
      server.answers[`PUT logs/${today}`] = (route) => route.fulfill(named(400, 'date-in-the-future', 'To come'));
    },
  ),
  'okusuri-calendar': scene(calendar, month, (server) => {
    server.note(false);
    server.logs.set(dayAt(-9), log(dayAt(-9), true, '', false));
  }),
  'okusuri-calendar-rest': scene(`${calendar}&month=2026-10`, month),
  'okusuri-calendar-day': scene(`${calendar}&month=2026-11`, async (page) => {
    await month(page);
    await page.getByRole('button', { name: /(, |年11月)9( Nov|日)/ }).click();
    await page.getByTestId('day-sheet').waitFor();
  }),
  'okusuri-calendar-bleeding-day': scene(`${calendar}&month=2026-10`, async (page) => {
    await month(page);
    await page.getByRole('button', { name: /(, |年10月)23( Oct|日)/ }).click();
    await page.getByTestId('day-sheet').waitFor();
  }),
  'okusuri-calendar-failing': scene(calendar, alert, (server) => {
    server.answers['GET calendar/2026-11'] = (route) => route.fulfill(problem(503, 'The database asks for patience'));
  }),
  'okusuri-report': scene(report, async (page) => {
    await page.getByRole('checkbox').check();
    await page.getByTestId('months').locator('tbody tr').nth(2).waitFor();
    await page.getByTestId('medicine-adherence').waitFor();
  }),
  'okusuri-history': scene(history, listed),
  'okusuri-history-empty': scene(
    history,
    (page) => page.getByText(/No entries yet|まだ記録がありません/).waitFor(),
    (server) => server.begin(),
  ),
  'okusuri-history-add': scene(history, async (page) => {
    await listed(page);
    await page.locator('input[type=date]').fill(dayAt(-59));
    await page.getByRole('button', { name: /^(Open|開く)$/ }).click();
    await page.getByTestId('day-sheet').waitFor();
  }),
  'okusuri-regimen': scene(
    okusuri,
    (page) => page.getByRole('radio').first().waitFor(),
    (server) => (server.user['asksRegimen'] = true),
  ),
  'okusuri-settings': scene(settings, settled, (server) => {
    const stock = { left: 13, perDose: 1, packSize: 28, warnDays: 7, packs: 2, isLow: false, runsOutOn: dayAt(6) };
    Object.assign(server.medicines[0] ?? {}, { stock });
    server.medicines.push({ id: 'm4', name: 'Ibuprofen', dose: '1 tablet', times: [], from: dayAt(-9) });
  }),
  'okusuri-settings-first': scene(
    settings,
    (page) => page.getByText(/No medicines yet|まだ薬がありません/).waitFor(),
    (server) => server.begin(),
  ),
  'okusuri-settings-medicine': scene(settings, async (page) => {
    await settled(page);
    await page.getByRole('button', { name: /Add a medicine|薬を追加/ }).click();
    const form = page.getByRole('form', { name: /New medicine|新しい薬/ });
    await form.getByRole('textbox', { name: /^(Times|時刻)/ }).fill('8, 25:00');
    await form.getByRole('switch', { name: /^(Count what|残りを数えて)/ }).check();
    await form.getByRole('button', { name: /^(Save|保存)$/ }).click();
    await page.getByRole('button', { name: /^(Remove|削除): Iron/ }).click();
    await alert(page);
  }),
  'okusuri-settings-import': scene(
    settings,
    async (page) => {
      await settled(page);
      const buffer = Buffer.from('date,has_bleeding,note\n');
      await page.locator('input[type=file]').setInputFiles({ name: 'log.csv', mimeType: 'text/csv', buffer });
      await page.getByTestId('preview').waitFor();
    },
    (server) => {
      server.answers['POST import'] = (route) =>
        route.fulfill({
          json: {
            items: [
              { line: 2, date: dayAt(-100), result: 'created' },
              { line: 3, date: dayAt(-99), result: 'created' },
              { line: 4, date: dayAt(-98), result: 'replaced' },
              { line: 5, date: dayAt(-97), result: 'unchanged' },
              { line: 6, date: '2026-02-30', problem: 'invalid-date' },
              { line: 7, date: dayAt(3), problem: 'date-in-the-future' },
            ],
          },
        });
    },
  ),
  'okusuri-settings-delete': scene(
    settings,
    async (page) => {
      await settled(page);
      await page.getByRole('button', { name: /^(Delete everything|すべて削除する)…$/ }).click();
      await page.getByRole('checkbox', { name: /I understand|元に戻せない/ }).check();
      await page.getByRole('button', { name: /^(Delete permanently|完全に削除する)$/ }).click();
      await page.getByText(/Sign in again to confirm|もう一度サインイン/).waitFor();
    },
    (server) => {
      server.answers['DELETE me'] = (route) => route.fulfill(named(403, 'sign-in-again', 'Sign in again'));
    },
  ),
};
