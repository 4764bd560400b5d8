/** Opens the clicks page, with helpers for its tests. */
import { setTimeout } from 'node:timers/promises';
import { becomes, useBrowser } from './harness.mjs';

/** @import { BrowserContextOptions, Page } from 'playwright-core' */
/** @import { ClicksServer } from './clicks-server.mjs' */

const DAY_MS = 86_400_000;

/** The browser of a test file. */
export function useClicks() {
  const visit = useBrowser('/tide/');

  /** Opens the page of the running stack, on a day that does not end meanwhile. @param {Parameters<typeof visit>[0]} [options] */
  const open = async (options) => {
    await awayFromMidnight();
    return visit(options);
  };

  /** Opens the page with a scripted server. @param {ClicksServer} server @param {BrowserContextOptions} [look] */
  const openWith = (server, look = {}) => visit({ ...look, prepare: (page) => server.install(page) });

  return { open, openWith };
}

/** The time before midnight in which no test begins. */
const LATE_MS = 90_000;

/** Waits while the UTC day is about to end: a test compares the figures of one day. */
async function awayFromMidnight() {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < LATE_MS) await setTimeout(leftMs + 1_000);
}

/** The UTC day `days` after today. @param {number} days */
export const day = (days) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);

/** The rows of the top targets. @param {Page} page */
export const targetRows = (page) => page.getByTestId('targets').locator('tr:not([aria-hidden])');

/** Waits for the rows of the top targets. @param {Page} page */
export async function targets(page) {
  await targetRows(page).first().waitFor();
  return (await targetRows(page).allInnerTexts()).map((row) => row.split(/\s+/));
}

/** The button of a target. @param {Page} page @param {string} name */
export const target = (page, name) => page.getByTestId('targets').getByRole('button', { name, exact: true });

/** The button of a unit of time. @param {Page} page @param {string} name */
export const unit = (page, name) => page.getByRole('group', { name: 'Unit of time' }).getByRole('button', { name });

/** Waits for the rows of the table of periods. @param {Page} page */
export const periodsLoaded = (page) => page.locator('[data-testid=periods] tr:not([aria-hidden])').first().waitFor();

/**
 * Waits for everything that the page reads at first. Its requests come one after the other, and the
 * comparisons are the last.
 *
 * @param {Page} page
 */
export async function allRead(page) {
  await figures(page);
  await periodsLoaded(page);
  await targetRows(page).first().waitFor();
  await becomes(() => page.locator('.before.pending').count(), 0);
}

/** Enters an operator token. @param {Page} page @param {string} text */
export async function useToken(page, text) {
  await page.locator('summary').last().click();
  await page.getByLabel('Operator token').fill(text);
  await page.getByRole('button', { name: 'Use token', exact: true }).click();
}

/** Waits for the live figures and returns them. @param {Page} page */
export async function figures(page) {
  await page.locator('[data-testid=total-clicks]:not(.skeleton)').waitFor();
  const number = async (/** @type {string} */ id) => {
    const element = page.getByTestId(id);
    if ((await element.count()) === 0) return 0;
    return Number((await element.innerText()).replaceAll(/\D/g, ''));
  };
  return {
    today: await number('today-clicks'),
    visitors: await number('today-visitors'),
    month: await number('month-clicks'),
    total: await number('total-clicks'),
  };
}

/**
 * Waits until each click of this page is counted. The page says so for four seconds only, and then
 * that it is ready.
 *
 * @param {Page} page
 */
export const clicksCounted = (page) => page.locator('[data-phase=counted], [data-phase=ready]').waitFor();

/** Waits until the total is at least this number. @param {Page} page @param {number} total */
export async function totalReaches(page, total) {
  await page.waitForFunction((wanted) => {
    const text = document.querySelector('[data-testid=total-clicks]')?.textContent ?? '';
    return Number(text.replaceAll(/\D/g, '')) >= wanted;
  }, total);
}
