/** The tables of the operator's page, for its tests. */

/** @import { Page } from 'playwright-core' */

/** The cells of the row with this name. @param {Page} page @param {string} name */
const row = (page, name) => page.getByRole('row').filter({ hasText: name }).locator('td');

/** The texts of the cells of the row with this name. @param {Page} page @param {string} name */
export const cells = (page, name) => row(page, name).allInnerTexts();

/** Waits until a cell of a row has the wanted text. @param {Page} page @param {string} name @param {number} at @param {RegExp} wanted */
export const cell = (page, name, at, wanted) => row(page, name).nth(at).getByText(wanted).waitFor();
