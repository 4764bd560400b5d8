/** The page for the doctor, on screen and on paper. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { pressIfThere } from '../harness.mjs';
import { useOkusuri } from '../okusuri-page.mjs';
import { dayAt, log, OkusuriServer } from '../okusuri-server.mjs';

const { open } = useOkusuri();

test('the page for the doctor has months, medicines and bleeding, and notes if wanted', async () => {
  const server = new OkusuriServer();
  server.logs.set(dayAt(-3), log(dayAt(-3), true, 'Headache <b>'));
  server.answers['GET medicines'] = async (route) => {
    await setTimeout(500);
    await route.fulfill({ json: { items: server.medicines } });
  };
  const { page, close } = await open(server, { at: '/okusuri/?view=history', colorScheme: 'dark' });
  await page.getByRole('link', { name: 'Page for the doctor' }).click();
  await page.getByRole('heading', { name: 'Medication report' }).waitFor();
  await page.getByTestId('months').getByRole('row').nth(3).waitFor();
  const iron = page.getByTestId('medicine-adherence').getByRole('row', { name: 'Iron' });
  // The plans of the medicines are the last to arrive.
  await iron.getByText('1 tablet · 08:00, 20:00').waitFor();
  assert.match((await iron.innerText()).replaceAll(/\s+/g, ' '), /Iron 1 tablet · 08:00, 20:00 56\/60 93%/);
  const months = page.getByTestId('medicine-months').getByRole('row', { name: 'Iron' });
  assert.match((await months.innerText()).replaceAll(/\s+/g, ' '), /^Iron 93% 93% 93%$/);
  await page.getByTestId('bleeding').getByText('18 Nov 2026 · 1 day').waitFor();
  assert.match(
    (await page.getByTestId('symptoms').innerText()).replaceAll(/\s+/g, ' '),
    /cramps 0 2 0 headache 0 0 1/i,
  );
  await page.getByRole('row', { name: /^Flow/ }).getByText('heavy').waitFor();
  assert.equal(await page.getByText('Headache <b>').count(), 0);
  await page.getByLabel('With my notes').check();
  await page.getByText('Headache <b>').waitFor();
  await page.getByLabel('Period').selectOption('12');
  await page.getByTestId('months').getByRole('row').nth(12).waitFor();

  await page.emulateMedia({ media: 'print' });
  for (const hidden of ['banner', 'navigation', 'button', 'contentinfo']) {
    assert.equal(await page.getByRole(/** @type {'banner'} */ (hidden)).count(), 0, hidden);
  }
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  await close();
});

test('without data or an answer, the page for the doctor says so', async () => {
  const server = new OkusuriServer();
  server.adherence = { ...server.adherence, of: 'logs', due: 0, taken: 0, medicines: undefined };
  server.logs.clear();
  server.answers['GET calendar/2026-09'] = (route) => route.abort();
  const { page, close } = await open(server, { at: '/okusuri/?view=report' });
  await page.getByText('Nothing was due in the last 30 days.').waitFor();
  await page.getByText('No bleeding is recorded in this period.').waitFor();
  await page.getByText('No symptoms are recorded in this period.').waitFor();
  await page.getByRole('alert').getByRole('button').waitFor();
  delete server.answers['GET calendar/2026-09'];
  await pressIfThere(page.getByRole('alert').getByRole('button'));
  await page.getByTestId('months').getByRole('row').nth(3).waitFor();
  await close();
});
