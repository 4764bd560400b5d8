/** The demo of the running stack, from the button of the start page to every page that shows it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figures } from '../clicks-page.mjs';
import { until, useBrowser } from '../harness.mjs';

const open = useBrowser('/');

/** @import { Locator } from 'playwright-core' */

/** The limit of each command. Adding takes half a minute on a quiet machine. */
const COMMAND_MS = 330_000;
const COMMANDS_MAX = 4;

/**
 * Presses a button until the panel says that it is done. The stack ends a command after five
 * minutes, and the next one continues it.
 *
 * @param {Locator} panel @param {() => Promise<void>} press @param {RegExp} done
 */
async function insist(panel, press, done) {
  for (let left = COMMANDS_MAX; ; left--) {
    await press();
    const add = panel.getByRole('button', { name: 'Add the demo', disabled: false });
    await add.waitFor({ timeout: COMMAND_MS });
    if (await panel.getByText(done).isVisible()) return;
    assert.ok(left > 1, await panel.innerText());
  }
}

test('the demo fills every page, and the button removes it', async () => {
  const { page, close } = await open();
  const visit = (/** @type {string} */ path) => page.goto(new URL(path, page.url()).href);
  await visit('/tide/');
  const before = await figures(page);
  await visit('/');
  const panel = page.getByTestId('demo');
  await insist(panel, () => panel.getByRole('button', { name: 'Add the demo' }).click(), /was added|already there/);
  const [clicks = '', game = '', product = '', , operator = ''] = await panel
    .getByRole('link')
    .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));

  await visit(clicks);
  assert.ok((await figures(page)).total > before.total + 5_000);
  const visitors = page.getByTestId('total-visitors');
  await until(
    async () => Number((await visitors.innerText()).replaceAll(/\D/g, '')),
    (count) => count >= 16,
  );
  await page
    .getByTestId('month-before')
    .getByText(/than the same part of the month before/)
    .first()
    .waitFor();

  // A stranger sees the finished game.
  await visit(game);
  await page.getByRole('heading', { name: 'This game is over' }).waitFor();
  await page.getByTestId('standings').locator('tr').nth(1).waitFor();
  await page.locator('.turn').last().scrollIntoViewIfNeeded();
  await page.locator('.turn').last().locator('img').waitFor();
  await page.getByRole('button', { name: 'Play too' }).waitFor();

  await visit(product);
  await page.getByTestId('price').getByText(/\d/).waitFor();
  await page.getByText(/List of price changes \(\d+\)/).waitFor();

  await visit(operator);
  const record = page.getByTestId('quarantine');
  await record.getByRole('button', { name: 'Count it now' }).click();
  await record.getByRole('dialog').getByRole('button', { name: 'Count it now' }).click();
  await record.getByText('The item still cannot be read').waitFor();
  await record.getByRole('button', { name: 'Do not count it' }).click();
  await record.getByRole('dialog').getByRole('button', { name: 'Do not count it' }).click();
  await record.getByText('The record is settled').waitFor();

  await visit('/');
  const remove = async () => {
    await panel.getByRole('button', { name: 'Remove the demo' }).click();
    await panel.getByRole('dialog').getByRole('button', { name: 'Remove the demo' }).click();
  };
  await insist(panel, remove, /was removed|no demo to remove/);
  await visit('/tide/');
  await until(
    async () => (await figures(page)).total,
    (total) => total === before.total,
  );
  await close();
});
