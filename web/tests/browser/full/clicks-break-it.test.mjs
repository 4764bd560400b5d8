/** The panel "Try to break it", on the running stack. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { figures, useClicks } from '../clicks-page.mjs';
import { ClicksServer } from '../clicks-server.mjs';
import { becomes, problem, until, violations } from '../harness.mjs';

/** @import { Page } from 'playwright-core' */

const { open } = useClicks();

/** @param {Page} page @param {string} id */
const number = async (page, id) => Number((await page.getByTestId(id).innerText()).replaceAll(/\D/g, ''));

/** Tries a fault, and waits until both counters stand still. @param {Page} page @param {string} name */
async function attempt(page, name) {
  await page.getByRole('button', { name }).click();
  await page.getByText('running…').waitFor();
  await page.getByRole('button', { name, disabled: false }).waitFor({ timeout: 360_000 });
}

/**
 * What the panel has shown while a trial ran: the exact counter's number, what it has gained, the
 * verdict, and whether all clicks are stored.
 *
 * @typedef {{ exact: number, gained: number, verdict: string, isStored: boolean }} Shown
 */

/** Runs in the page: notes each state of a running trial, so that none is missed. */
function observe() {
  /** @type {Shown[]} */
  const shown = [];
  const note = () => {
    const row = document.querySelector('[data-testid=trials] tbody tr');
    if (!row?.querySelector('th .soft')) return;
    // "1,000 → 1,070 +70"
    const [, exact, gained] = (row.querySelectorAll('td')[1]?.textContent?.match(/[\d,]+/g) ?? []).map((text) =>
      Number(text.replaceAll(',', '')),
    );
    if (exact === undefined || gained === undefined) throw new Error('the row of a trial has another form');
    const verdict = document.querySelector('.exact .verdict')?.textContent ?? '';
    shown.push({ exact, gained, verdict, isStored: document.querySelector('[data-phase=counting]') !== null });
  };
  new MutationObserver(note).observe(document.body, { childList: true, subtree: true, characterData: true });
  Object.assign(globalThis, { takeShown: () => shown.splice(0) });
}

test('each fault leaves the exact total right, and a repeated batch leaves the usual counter wrong', async () => {
  const { page, close } = await open();
  let { total } = await figures(page);
  await page.evaluate(observe);
  let surplus = 0;
  for (const [name, clicks] of /** @type {const} */ ([
    ['Deliver a batch twice', 100],
    ['Kill a function', 100],
    ['Lose a reply', 100],
    ['Throttle the table', 100],
    ['Stop the aggregator for 10 s', 100],
    ['Click 1,000 times', 1_000],
  ])) {
    await attempt(page, name);
    total += clicks;
    assert.equal(await number(page, 'exact'), total, name);
    const shown = /** @type {Shown[]} */ (await page.evaluate('takeShown()'));
    for (const { exact, gained, verdict } of shown) {
      assert.equal(exact, total - clicks + gained, name);
      assert.equal(verdict, gained < clicks ? `${(clicks - gained).toLocaleString('en-GB')} to come` : 'exact', name);
    }
    // The panel tells what is missing while the function is stopped, and moves while clicks come.
    if (name.startsWith('Stop')) assert.ok(shown.some(({ isStored, gained }) => isStored && gained < clicks));
    if (name === 'Click 1,000 times') assert.ok(shown.some(({ gained }) => gained > 0 && gained < clicks));
    const before = surplus;
    surplus = (await number(page, 'usual')) - total;
    if (name === 'Click 1,000 times' || name.startsWith('Stop')) assert.equal(surplus, before, name);
    else if (!name.startsWith('Throttle')) assert.ok(surplus > before, `${name}: ${before} to ${surplus}`);
  }
  assert.equal(await page.getByTestId('trials').locator('tbody tr').count(), 6);
  assert.deepEqual(await violations(page), []);
  await close();
});

test('a trial that fails sends no more clicks, and the next one waits for those that are unsent', async () => {
  const server = new ClicksServer();
  const { page, close } = await open({
    prepare: async (page) => {
      await server.install(page);
      await page.route('**/_local/faults', (route) => route.fulfill({ json: { engine: {} } }));
      await page.route('**/_local/usual-handler', async (route) => {
        if (route.request().method() === 'PUT') return route.fulfill({ json: { total: server.total } });
        await until(
          () => server.received.length,
          (length) => length > 0,
        );
        return route.fulfill(problem(503, 'The handler is busy'));
      });
    },
  });
  const trial = page.getByRole('button', { name: 'Click 1,000 times' });
  await trial.click();
  await page.getByText('The local stack did not answer.').waitFor();
  await page.getByText('running…').waitFor({ state: 'detached' });
  await until(
    () => trial.isEnabled(),
    (isEnabled) => isEnabled,
  );
  const sent = server.received.length;
  await setTimeout(500);
  assert.equal(server.received.length, sent);

  server.failing = ['/clicks'];
  await page.getByTestId('click').click();
  await becomes(() => trial.isEnabled(), false);
  server.failing = [];
  await becomes(() => trial.isEnabled(), true);
  await close();
});

test('without a local stack the panel is missing', async () => {
  const { page, close } = await open({
    prepare: (page) => page.route('**/_local/faults', (route) => route.fulfill({ status: 404 })),
  });
  await figures(page);
  assert.equal(await page.getByRole('heading', { name: 'Try to break it' }).count(), 0);
  await close();
});
