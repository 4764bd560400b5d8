/** The focus of a keyboard user of the medication log, when the button that had it disappears. */
import { test } from 'node:test';
import { becomes } from '../harness.mjs';
import { act, logChanges, useOkusuri } from '../okusuri-page.mjs';
import { dayAt, OkusuriServer, today } from '../okusuri-server.mjs';

/** @import { Page } from 'playwright-core' */

const { open } = useOkusuri();

/** @param {Page} page */
const focusedName = (page) =>
  page.evaluate(() => {
    const focused = document.activeElement;
    return focused?.getAttribute('aria-label') ?? focused?.closest('label, button, a')?.textContent?.trim();
  });

/** Presses Enter on the controls in this order, each of which must have the focus then. @param {Page} page @param {string[]} names */
async function pressEach(page, names) {
  for (const name of names) {
    await becomes(() => focusedName(page), name);
    await page.keyboard.press('Enter');
  }
}

test('the focus stays in the row of a dose', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server);
  const doses = page.getByTestId('doses');
  await doses.getByRole('button', { name: 'Taken: Iron, 08:00' }).focus();
  await pressEach(page, ['Taken: Iron, 08:00', 'Undo: Iron, 08:00', 'Taken: Iron, 08:00']);
  await doses.getByRole('button', { name: 'Change time: Iron, 08:00' }).focus();
  // The second one is the field: Enter saves its time.
  await pressEach(page, ['Change time: Iron, 08:00', 'Change time: Iron, 08:00']);
  await becomes(() => focusedName(page), 'Change time: Iron, 08:00');
  await doses.getByRole('button', { name: 'Snooze: Vitamin D, 12:30' }).focus();
  await pressEach(page, ['Snooze: Vitamin D, 12:30', '15 min', 'Snooze: Vitamin D, 12:30']);
  await doses.getByRole('button', { name: 'Cancel' }).focus();
  await pressEach(page, ['Cancel', 'Snooze: Vitamin D, 12:30', '15 min']);
  await becomes(() => focusedName(page), 'Snooze: Vitamin D, 12:30');
  await close();
});

test('the focus stays with today’s entry', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server);
  await page.getByTestId('take').focus();
  await pressEach(page, ['Taken', 'Change to “with bleeding”']);
  await act(page).getByRole('button', { name: 'Undo' }).focus();
  await pressEach(page, ['Undo']);
  await becomes(() => focusedName(page), 'Taken');
  await close();
});

test('the focus returns from the form of a medicine', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { at: '/okusuri/?view=settings' });
  const medicines = page.getByTestId('medicines');
  await medicines.getByRole('button', { name: 'Edit: Vitamin D' }).focus();
  await pressEach(page, ['Edit: Vitamin D', 'Name']);
  await becomes(() => focusedName(page), 'Edit: Vitamin D');
  await medicines.getByRole('button', { name: 'Remove: Iron' }).press('Enter');
  await medicines.getByRole('button', { name: 'Remove', exact: true }).press('Enter');
  await becomes(() => focusedName(page), 'Edit: Vitamin D');
  await medicines.getByRole('button', { name: 'Remove: Vitamin D' }).press('Enter');
  await medicines.getByRole('button', { name: 'Remove', exact: true }).press('Enter');
  await pressEach(page, ['Add a medicine']);
  await becomes(() => focusedName(page), 'Name');
  await close();
});

test('the focus returns to “New pack” when the pack is added', async () => {
  const server = new OkusuriServer();
  const stock = { left: 13, perDose: 1, packSize: 28, warnDays: 7, packs: 2, isLow: false, runsOutOn: dayAt(13) };
  Object.assign(server.medicines[0] ?? {}, { stock });
  const { page, close } = await open(server, { at: '/okusuri/?view=settings' });
  const medicines = page.getByTestId('medicines');
  for (const answer of ['Add', 'Cancel']) {
    await medicines.getByRole('button', { name: 'New pack: Iron' }).press('Enter');
    await medicines.getByRole('button', { name: answer, exact: true }).press('Enter');
    await becomes(() => focusedName(page), 'New pack: Iron');
  }
  await close();
});

test('a button that was disabled while sending gets its focus back', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { at: '/okusuri/?view=settings' });
  const profile = page.getByRole('region', { name: 'Profile' });
  await profile.getByRole('button', { name: 'Save' }).press('Enter');
  await profile.getByText('Saved.').waitFor();
  await becomes(() => focusedName(page), 'Save');
  await close();
});

test('a held Enter presses one button', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server);
  await page.getByTestId('take').focus();
  await page.keyboard.down('Enter');
  await becomes(() => focusedName(page), 'Change to “with bleeding”');
  await page.keyboard.down('Enter');
  await page.keyboard.up('Enter');
  await becomes(() => logChanges(server), [`PUT logs/${today}`]);
  await close();
});
