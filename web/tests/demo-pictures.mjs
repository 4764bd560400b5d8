/**
 * Adds the demo to the running stack, and takes the pictures of the README from it: `make pictures`.
 *
 *     TIDEMARK_URL=http://127.0.0.1:3000 node tests/demo-pictures.mjs <folder>
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { launchChromium, stackUrl } from './chromium.mjs';

const folder = process.argv[2] ?? 'screenshots';
const url = stackUrl();

const answer = await (await fetch(`${url}/_local/commands/demo`, { method: 'POST' })).json();
assert.equal(answer.exitCode, 0, answer.error);
const demo = JSON.parse(answer.output);

const browser = await launchChromium();
const page = await browser.newPage({
  viewport: { width: 1120, height: 760 },
  colorScheme: 'light',
  locale: 'en-GB',
  reducedMotion: 'reduce',
});

/** Takes the picture of a page that has loaded, from the element with `top` on. @param {string} name @param {string} [top] */
async function take(name, top) {
  await page.waitForLoadState('networkidle');
  if (top)
    await page
      .getByText(top, { exact: true })
      .evaluate((element) => scrollTo(0, element.getBoundingClientRect().top - 24));
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
}

await page.goto(`${url}/tide/`);
await take('clicks', 'Clicks over time');
await page.goto(`${url}/game/?game=${demo.gameId}`);
await take('game');
await page.goto(`${url}/shop/?product=demo-lamp`);
await take('shop');

await page.goto(`${url}/okusuri/`);
await page.getByLabel('Email address').fill(demo.email);
await page.getByRole('button', { name: 'Send me a code' }).click();
const field = page.getByRole('textbox', { name: 'Code' });
await field.waitFor();
const { items } = await (await fetch(`${url}/_local/mail`, { headers: { accept: 'application/json' } })).json();
const mail = items.find((/** @type {{ to: string[] }} */ { to }) => to.includes(demo.email));
await field.fill(/\d{6}/.exec(mail.text)?.[0] ?? '');
await page.getByTestId('take').waitFor();
await page.getByRole('link', { name: 'Calendar' }).click();
await take('okusuri');
await browser.close();
console.log(`The pictures are in ${path.resolve(folder)}`);
