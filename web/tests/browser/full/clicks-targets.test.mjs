/** Clicks by target, hour, week and month, with a scripted server. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { viewports } from '../../chromium.mjs';
import { allRead, figures, target, targetRows, targets, totalReaches, unit, useClicks } from '../clicks-page.mjs';
import { ClicksServer, STRANGE_TARGETS, today } from '../clicks-server.mjs';
import { becomes, named, until } from '../harness.mjs';

const { open, openWith } = useClicks();

test('targets rank by the chosen range, and visitors are of one day', async () => {
  const server = new ClicksServer();
  // 29 earlier days: 290 clicks.
  server.earlierTargets = [
    ['/docs/getting-started', 10, 3],
    ['tide', 1, 1],
  ];
  const { page, close } = await openWith(server);
  assert.deepEqual((await targets(page)).slice(0, 2), [
    ['1', '/docs/getting-started', '314'],
    ['2', 'tide', '197'],
  ]);
  const heading = page.getByRole('heading', { name: 'Top targets' });
  assert.equal(await heading.innerText(), 'Top targets 23 Oct – 21 Nov 2026');
  await page.getByRole('button', { name: '7 days' }).click();
  await page.getByText('Top targets 15 – 21 Nov 2026').waitFor();
  assert.deepEqual((await targets(page))[0], ['1', 'tide', '174']);
  await unit(page, 'Hours').click();
  await page.getByText('Top targets 21 Nov 2026').waitFor();
  assert.deepEqual((await targets(page))[0], ['1', 'tide', '168', '21']);
  assert.equal(server.asked.filter((path) => path.startsWith('/stats/targets')).length, 30, 'each day once');
  await close();
});

test('the targets of a day are read again only when its clicks have changed', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  await allRead(page);
  server.asked = [];
  await becomes(() => server.asked.filter((path) => path === '/stats/total').length >= 3, true);
  assert.deepEqual(
    server.asked.filter((path) => path.includes('?')),
    [],
  );
  server.count('/pricing', 200);
  await page.getByTestId('targets').getByText('296').waitFor();
  assert.deepEqual((await targets(page))[0], ['1', '/pricing', '296']);
  assert.deepEqual(
    server.asked.filter((path) => path.startsWith('/stats/targets')),
    [`/stats/targets?date=${today}&limit=100`],
  );
  await close();
});

test('a click has the target of the field, which is kept', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  const { total } = await figures(page);
  const field = page.getByLabel('Target', { exact: true });
  assert.equal(await field.inputValue(), 'tide');
  await page.getByTestId('click').click();
  await totalReaches(page, total + 1);
  await field.fill('  灯台 🌊 ');
  await page.getByRole('button', { name: 'Save: Target' }).click();
  await page.getByText('Saved.').waitFor();
  await page.getByTestId('click').click();
  await totalReaches(page, total + 2);
  assert.deepEqual(
    server.received.map((click) => click['target']),
    ['tide', '灯台 🌊'],
  );
  await page.reload();
  assert.equal(await field.inputValue(), '灯台 🌊');
  await close();
});

test('a target that the API would reject is refused by the field', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  await figures(page);
  const field = page.getByLabel('Target', { exact: true });
  const save = page.getByRole('button', { name: 'Save: Target' });
  for (const [wrong, message] of /** @type {const} */ ([
    [' ', 'Enter at least one character.'],
    ['x'.repeat(101), 'Enter at most 100 characters.'],
    ['a\u0007b', 'The target cannot contain control characters.'],
  ])) {
    await field.fill(wrong);
    await save.click();
    await page.getByText(message).waitFor();
    assert.equal(await field.getAttribute('aria-invalid'), 'true');
  }
  await page.getByTestId('click').click();
  await becomes(() => server.received.map((click) => click['target']), ['tide']);
  await close();
});

test('a click that the server rejects for its target shows the reason', async () => {
  const { page, close } = await open({
    prepare: async (page) => {
      await new ClicksServer().install(page);
      await page.route('**/clicks', (route) =>
        route.fulfill(named(400, 'invalid-target', 'The target is not valid', { detail: 'over 100 characters' })),
      );
    },
  });
  await figures(page);
  await page.getByTestId('click').click();
  await page.getByText('Rejected: 1').waitFor();
  await page.getByText('The target is not valid: over 100 characters').waitFor();
  await close();
});

test('a click made offline keeps its target, and one of an earlier version is sent without', async () => {
  const server = new ClicksServer();
  const { page, context, close } = await openWith(server);
  const { total } = await figures(page);
  await context.setOffline(true);
  await page.getByText('You are offline').waitFor();
  await page.getByLabel('Target', { exact: true }).fill('/pricing');
  await page.getByRole('button', { name: 'Save: Target' }).click();
  await page.getByTestId('click').click();
  await page.locator('[data-phase=offline]').waitFor();
  // The target of a click is the one at its time.
  await page.getByLabel('Target', { exact: true }).fill('later');
  await page.getByRole('button', { name: 'Save: Target' }).click();
  await page.evaluate(() => {
    const key = Object.keys(localStorage).find((key) => key.startsWith('tidemark.click.')) ?? '';
    const { target: _, ...old } = JSON.parse(localStorage.getItem(key) ?? '{}');
    const other = key.slice('tidemark.click.'.length, -1) + (key.endsWith('f') ? 'e' : 'f');
    localStorage.setItem(`tidemark.click.${other}`, JSON.stringify({ ...old, key: other, userId: 'old' }));
  });
  // The next visit sends both.
  server.failing = ['/clicks'];
  await context.setOffline(false);
  await page.reload();
  server.failing = [];
  await totalReaches(page, total + 2);
  const sent = server.received.map(({ userId, ...click }) => (userId === 'old' ? { userId, ...click } : click));
  assert.deepEqual(
    new Set(sent),
    new Set([
      { clickCount: 1, target: '/pricing' },
      { userId: 'old', clickCount: 1 },
    ]),
  );
  await close();
});

test('the focus stays on a target that moves to another rank', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  await targets(page);
  await target(page, 'newsletter').focus();
  server.count('newsletter', 500);
  await page.getByTestId('targets').getByText('507').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('title')), 'newsletter');
  await close();
});

test('the CSV file of the top targets has the rows of the API for each day', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  await targets(page);
  const button = page.getByRole('button', { name: 'Download CSV: Top targets' });
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  assert.equal(download.suggestedFilename(), `tidemark-targets_2026-10-23_${today}.csv`);
  const lines = (await readFile(await download.path(), 'utf8')).split('\r\n');
  assert.deepEqual(lines.slice(0, 2), ['date,target,totalClicks,uniqueUsers', `${today},tide,168,21`]);
  server.failing = ['/stats/targets'];
  await button.click();
  await page.getByText('Could not create the CSV file').waitFor();
  await close();
});

test('the filter stays when other figures arrive', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  await targets(page);
  await target(page, 'tide').click();
  const first = page.getByTestId('periods').locator('tr').first();
  await first.getByText('168').waitFor();
  await page.getByTestId('click').click();
  await first.getByText('169').waitFor();
  assert.equal(await page.getByTestId('today-clicks').innerText(), '387');
  await close();
});

test('the hours of today end with the current one, and those of another day are complete', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  await figures(page);
  await unit(page, 'Hours').click();
  await page.getByRole('button', { name: 'Show all 15 hours' }).waitFor();
  await page.getByRole('button', { name: 'Yesterday' }).click();
  await page.getByRole('button', { name: 'Show all 24 hours' }).waitFor();
  await server.asks('/stats/hourly?from=2026-11-20&to=2026-11-20');
  await page.getByLabel('Day', { exact: true }).first().fill('2026-11-02');
  await server.asks('/stats/hourly?from=2026-11-02&to=2026-11-02');
  await page.getByText('Mon, 2 Nov 2026, UTC').waitFor();
  // The gauge does not depend on the chosen day.
  await page.getByText('Highest: 438 · 31 Oct').waitFor();
  await close();
});

test('two chosen dates stay for days, weeks and months', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  await figures(page);
  await page.getByLabel('From', { exact: true }).first().fill('2026-09-03');
  await unit(page, 'Weeks').click();
  await server.asks('/stats/weekly?from=2026-W36&to=2026-W47');
  await page.getByLabel('To', { exact: true }).first().fill('2026-10-02');
  await server.asks('/stats/weekly?from=2026-W36&to=2026-W40');
  await unit(page, 'Months').click();
  await server.asks('/stats/monthly?from=2026-09&to=2026-10');
  await close();
});

test('failed reads have their own notice and recover automatically', async () => {
  const server = new ClicksServer();
  server.failing = ['/stats/targets'];
  const { page, close } = await openWith(server);
  await page.getByText('Could not load the top targets').waitFor();
  await page.getByTestId('periods').getByText('386').waitFor();
  server.failing = ['/stats/hourly'];
  await page.getByText('Could not load the top targets').waitFor({ state: 'detached' });
  await targets(page);
  await unit(page, 'Hours').click();
  await page.getByText('Could not load the figures of this date range').waitFor();
  // The old figures stay below their own heading.
  await page.getByRole('img', { name: /^Chart: By day/ }).waitFor();
  server.failing = [];
  await page.getByRole('img', { name: /^Chart: By hour/ }).waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
  await close();
});

test('without clicks on targets, the list says so', async () => {
  const server = new ClicksServer();
  server.targets = [];
  const { page, close } = await openWith(server);
  await page.getByText('No clicks with a target in this date range.').waitFor();
  await close();
});

for (const [size, viewport] of Object.entries({ ...viewports, sideways: { width: 700, height: 320 } })) {
  test(`targets of strangers stay in their place as plain text (${size})`, async () => {
    const server = new ClicksServer();
    server.targets = STRANGE_TARGETS.map((name, i) => [name, 90 - i, 9]);
    const { page, close } = await openWith(server, { viewport });
    await targets(page);
    const width = () => page.evaluate(() => document.documentElement.scrollWidth);
    const tops = () => targetRows(page).evaluateAll((all) => all.map((row) => row.getBoundingClientRect().height));
    assert.equal(await width(), viewport.width);
    assert.equal(new Set((await tops()).map(Math.round)).size, 1, 'one line each');
    for (const [i, name] of STRANGE_TARGETS.entries()) {
      const button = targetRows(page).nth(i).getByRole('button');
      const shown = (await button.textContent())?.trim();
      assert.equal(shown, name === '\u200B\u3164' ? '(blank)' : name);
      await button.click();
      await becomes(() => server.asked.some((path) => path.includes('target=')), true);
      assert.equal(await width(), viewport.width, `the filter ${name}`);
      server.asked = [];
    }
    assert.equal(await page.title(), 'Clicks · Tidemark');
    await close();
  });
}

test('nothing moves while figures arrive', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  await allRead(page);
  const places = () =>
    page.evaluate(() =>
      ['.gauge', '.chart', '[data-testid=targets]', '[data-testid=periods]', 'details'].map((selector) => {
        const box = document.querySelector(selector)?.getBoundingClientRect();
        return [
          selector,
          Math.round((box?.top ?? NaN) + scrollY),
          Math.round(box?.left ?? NaN),
          Math.round(box?.width ?? NaN),
        ];
      }),
    );
  await page.evaluate(() => document.fonts.ready);
  const before = await places();
  server.count('/pricing', 12_000);
  await page.getByTestId('targets').getByText('12,096').waitFor();
  assert.deepEqual(await places(), before);
  await target(page, 'tide').click();
  await page.getByTestId('periods').locator('tr').first().getByText('168').waitFor();
  assert.deepEqual(await places(), before);
  await close();
});

test('on a phone, a seam separates the line of visitors from the bars', async () => {
  const { page, close } = await openWith(new ClicksServer(), { viewport: viewports.phone });
  await targets(page);
  const canvas = page.getByRole('img', { name: /^Chart: By day/ }).locator('canvas');
  const columns = () =>
    canvas.evaluate((element) => {
      const { width, height } = /** @type {HTMLCanvasElement} */ (element);
      const pixels = /** @type {HTMLCanvasElement} */ (element)
        .getContext('2d')
        ?.getImageData(0, 0, width, height).data;
      const names = new Map([
        ['47,127,178', 'bar'],
        ['184,56,10', 'line'],
      ]);
      /** The colours of a column from top to bottom; mixed ones are left out. @param {number} x */
      const column = (x) => {
        const found = ['paper'];
        for (let y = 0; y < height; y++) {
          const [red, green, blue, alpha] = pixels?.slice(4 * (y * width + x), 4 * (y * width + x) + 4) ?? [];
          const name = names.get(`${red},${green},${blue}`) ?? (blue && blue > 230 && alpha ? 'paper' : undefined);
          if (name !== undefined && name !== found.at(-1)) found.push(name);
        }
        return found.join(' ');
      };
      return Array.from({ length: width }, (_, x) => column(x));
    });
  await until(columns, (all) => all.includes('paper bar paper line paper bar'));
  await close();
});

test('the HTML of a counter follows the filter, the colours and the field', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  await target(page, '/pricing').click();
  await page.locator('summary').first().click();
  const html = () => page.getByTestId('embed').inputValue();
  const picture = (/** @type {string} */ query) =>
    `<img src="${new URL(page.url()).origin}/stats/counter.svg${query}" alt="Clicks" height="56">`;
  await becomes(html, picture('?target=%2Fpricing'));
  await server.asks('/stats/counter.svg?target=/pricing');
  await page.getByRole('button', { name: 'Dark', exact: true }).click();
  await becomes(html, picture('?target=%2Fpricing&amp;theme=dark'));
  const field = page.getByLabel('Target of the counter');
  await field.fill(`"><script>'`);
  await field.blur();
  await becomes(html, picture('?target=%22%3E%3Cscript%3E%27&amp;theme=dark'));
  await field.fill('w'.repeat(101));
  await field.blur();
  await page.getByText('Enter at most 100 characters.').waitFor();
  assert.equal(await page.getByTestId('embed').count(), 0);
  await field.fill('');
  await field.blur();
  await becomes(html, picture('?theme=dark'));
  await close();
});
