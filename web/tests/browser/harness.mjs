/**
 * Shared by all browser tests: one browser per file, and a fresh page per test whose scripts must
 * not fail.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, before } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { launchChromium, stackUrl, viewports } from '../chromium.mjs';

/** @import { Browser, BrowserContextOptions, Page } from 'playwright-core' */

/** The timeout of a step. It is far longer than any step takes and only ends a test that hangs. */
const PATIENCE_MS = 20_000;

/** Starts a browser for the test file. Returns a function that opens a page in a fresh profile. */
export function useBrowser(path = '/tide/') {
  const url = stackUrl();
  /** @type {Browser | undefined} */
  let browser;
  before(async () => {
    browser = await launchChromium();
  });
  after(() => browser?.close());

  /**
   * Opens the page, or another path (`at`). `prepare` runs before the page loads and may install
   * scripted responses.
   *
   * @param {BrowserContextOptions & { at?: string, prepare?: (page: Page) => Promise<unknown> }} [options]
   */
  return async function open({ prepare, at = path, ...options } = {}) {
    assert.ok(browser, 'Chromium has not started');
    const context = await browser.newContext({ viewport: viewports.desktop, locale: 'en-GB', ...options });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    /** @type {string[]} */
    const failures = [];
    page.on('pageerror', (error) => failures.push(String(error)));
    await prepare?.(page);
    await page.goto(url + at);
    return {
      page,
      context,
      /** Closes the page. A script error on the page fails the test. */
      async close() {
        // A scripted response that is still pending must not fail the test.
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        await context.unrouteAll({ behavior: 'ignoreErrors' });
        await context.close();
        assert.deepEqual(failures, []);
      },
    };
  };
}

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The violations that axe finds: each rule with its elements. @param {Page} page */
export async function violations(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const run = /** @type {{ axe: import('axe-core') }} */ (/** @type {unknown} */ (globalThis)).axe.run;
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const results = await run(document, { runOnly: tags });
    return results.violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.html).join(' | ')}`);
  });
}

/**
 * Waits until a value outside the page is as wanted. A page may show a change before its server has
 * received it.
 *
 * @template T @param {() => T} read @param {T} wanted
 */
export async function becomes(read, wanted) {
  const until = Date.now() + PATIENCE_MS;
  while (!isDeepStrictEqual(read(), wanted) && Date.now() < until) await setTimeout(20);
  assert.deepEqual(read(), wanted);
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

/** Waits until the total is at least this number. @param {Page} page @param {number} total */
export async function totalReaches(page, total) {
  await page.waitForFunction((wanted) => {
    const text = document.querySelector('[data-testid=total-clicks]')?.textContent ?? '';
    return Number(text.replaceAll(/\D/g, '')) >= wanted;
  }, total);
}

/**
 * A response with problem details.
 *
 * @param {number} status
 * @param {string} title
 * @param {string} [detail]
 */
export function problem(status, title, detail) {
  return {
    status,
    contentType: 'application/problem+json',
    body: JSON.stringify({ type: 'about:blank', title, status, detail }),
  };
}

/**
 * A response with problem details of this type.
 *
 * @param {number} status @param {string} type @param {string} title @param {Record<string, unknown>} [members]
 */
export function named(status, type, title, members = {}) {
  return {
    status,
    contentType: 'application/problem+json',
    body: JSON.stringify({ type: `urn:tidemark:problem:${type}`, title, status, ...members }),
  };
}
