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

/** @import { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core' */

/** The timeout of a step. It is far longer than any step takes and only ends a test that hangs. */
const PATIENCE_MS = 120_000;
/** The pause between two reads of a value outside the page, which cannot be observed. */
const POLL_MS = 50;

/**
 * Starts a browser for the test file. Returns a function that opens a page in a fresh profile.
 * `origin` is called after the file's own `before` hooks; by default it is the stack.
 */
export function useBrowser(path = '/', origin = stackUrl) {
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
    await page.goto(origin() + at);
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

/** A token of the running stack, from the environment. @param {`TIDEMARK_${string}_TOKEN`} name */
export function stackToken(name) {
  const token = process.env[name];
  if (!token)
    throw new Error(`${name} is not set. The running stack prints its tokens; \`make test\` sets it automatically.`);
  return token;
}

let names = 0;

/** A name that no other test of this stack has used. @param {string} name */
export const unique = (name) => `${name}-${Date.now()}-${process.pid}-${++names}`;

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
 * Waits until a value is as wanted. A page may show a change before its server has
 * received it.
 *
 * @template T @param {() => T | Promise<T>} read @param {T} wanted
 */
export async function becomes(read, wanted) {
  await until(read, (value) => isDeepStrictEqual(value, wanted));
}

/**
 * Reads a value until it is right, and returns it. Fails after two minutes with the last value.
 *
 * @template T @param {() => T | Promise<T>} read @param {(value: T) => boolean} isRight
 */
export async function until(read, isRight) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await read();
    if (isRight(value)) return value;
    if (Date.now() > deadline) assert.fail(`still ${JSON.stringify(value)} after ${PATIENCE_MS} ms`);
    await setTimeout(POLL_MS);
  }
}

/**
 * Presses a button that may already be gone, because the page tries again by itself.
 *
 * @param {Locator} button
 */
export const pressIfThere = (button) =>
  button.evaluateAll((all) => all.forEach((one) => /** @type {HTMLElement} */ (one).click()));

/**
 * Waits until every request that the page has sent so far has reached the scripted server or the
 * stack. Requests of a page arrive in their order, so a later one proves it.
 *
 * @param {Page} page
 */
export async function requestsArrived(page) {
  await page.evaluate(async () => (await fetch('/early.js')).text());
}

/** A response with problem details. @param {number} status @param {string} title @param {string} [detail] */
export const problem = (status, title, detail) => problemOf('about:blank', status, title, { detail });

/**
 * A response with problem details of this type.
 *
 * @param {number} status @param {string} type @param {string} title @param {Record<string, unknown>} [members]
 */
export const named = (status, type, title, members) =>
  problemOf(`urn:tidemark:problem:${type}`, status, title, members);

/** @param {string} type @param {number} status @param {string} title @param {Record<string, unknown>} [members] */
const problemOf = (type, status, title, members) => ({
  status,
  contentType: 'application/problem+json',
  body: JSON.stringify({ type, title, status, ...members }),
});
