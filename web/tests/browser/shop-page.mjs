/** Opens the shop page, with helpers for its tests. */
import { useBrowser } from './harness.mjs';

/** @import { Page } from 'playwright-core' */
/** @import { ShopServer } from './shop-server.mjs' */

/** The browser of a test file. Its page is that of the mug. */
export function useShop() {
  const open = useBrowser('/shop/?product=mug-035');

  /**
   * Opens the page of the mug with the staff token.
   *
   * @param {ShopServer} server
   * @param {Parameters<typeof open>[0]} [options]
   */
  async function openStaff(server, options = {}) {
    const visit = await open({ prepare: (page) => server.staff(page), ...options });
    await visit.page.getByTestId('ledger').locator('tr.line').first().waitFor();
    return visit;
  }

  return { open, openStaff };
}

/** Enters a staff token. @param {Page} page @param {string} text */
export async function useToken(page, text) {
  await page.getByLabel('Staff token').fill(text);
  await page.getByRole('button', { name: 'Use token', exact: true }).click();
}

/** @param {Page} page @param {string} price */
export async function setPrice(page, price) {
  await page.getByLabel('New price in EUR').fill(price);
  await page.getByRole('button', { name: 'Set price' }).click();
}

/** @param {Page} page @param {string} movement @param {string} quantity */
export async function move(page, movement, quantity) {
  await page.getByRole('button', { name: 'Change stock' }).click();
  await page.locator('fieldset').getByText(movement, { exact: true }).click();
  await page.getByLabel('Quantity').fill(quantity);
  await page.getByRole('button', { name: 'Record movement' }).click();
}

/** The rows of the price changes. @param {Page} page */
export const changes = (page) => page.getByTestId('changes').locator('tr');
