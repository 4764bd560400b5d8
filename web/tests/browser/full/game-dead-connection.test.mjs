/** A network that goes silent without closing its connections, on the running stack. */
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { stackUrl } from '../../chromium.mjs';
import { becomes, until, useBrowser } from '../harness.mjs';

/** @import { Page } from 'playwright-core' */

/** The network between the browser and the stack: a proxy that can stop forwarding. */
const network = {
  isSilent: false,
  /** @type {Set<net.Socket>} */
  sockets: new Set(),
  server: net.createServer((inner) => {
    const { hostname, port } = new URL(stackUrl());
    const outer = net.connect(Number(port), hostname);
    for (const [from, to] of /** @type {const} */ ([
      [inner, outer],
      [outer, inner],
    ])) {
      network.sockets.add(from);
      from.on('data', (data) => network.isSilent || to.write(data));
      from.on('end', () => network.isSilent || to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => network.sockets.delete(from));
    }
  }),
  /** From now on new connections work. The old ones end, as after the timeout of a router. */
  comeBack() {
    network.isSilent = false;
    for (const socket of network.sockets) socket.destroy();
  },
  origin() {
    const address = network.server.address();
    assert.ok(address !== null && typeof address === 'object');
    return `http://127.0.0.1:${address.port}`;
  },
};

before(() => new Promise((resolve) => network.server.listen(0, '127.0.0.1', () => resolve(undefined))));
after(() => {
  network.comeBack();
  network.server.close();
});

const openBehind = useBrowser('/game/', network.origin);
const open = useBrowser('/game/');

/** @param {Page} page @param {string} text */
async function say(page, text) {
  await page.locator('#say').fill(text);
  await page.locator('#say').press('Enter');
}

/** @param {Page} page @param {string} text */
const lines = (page, text) => page.getByTestId('chat').locator('li').filter({ hasText: text });

test('a line into a dead connection looks unsent and arrives once', async () => {
  const host = await openBehind();
  await host.page.getByLabel('Your name').fill('あんず');
  await host.page.getByRole('button', { name: 'Create game' }).click();
  const link = new URL(await host.page.getByTestId('game-link').inputValue());
  const guest = await open({ at: link.pathname + link.search });
  await guest.page.getByLabel('Your name').fill('ぶんた');
  await guest.page.getByRole('button', { name: 'Play' }).click();
  await guest.page.getByRole('heading', { name: 'Waiting room' }).waitFor();
  await say(host.page, 'before');
  await lines(guest.page, 'before').waitFor();

  network.isSilent = true;
  await say(host.page, 'during');
  await lines(host.page, 'during').filter({ hasText: 'not sent yet' }).waitFor();
  await host.page.getByText('Connection lost. Reconnecting…').waitFor();
  network.comeBack();
  await lines(guest.page, 'during').waitFor();
  await until(
    () => lines(host.page, 'during').allInnerTexts(),
    (texts) => texts.length === 1 && !texts[0]?.includes('not sent yet'),
  );

  await host.context.setOffline(true);
  await host.page.getByText('You are offline').waitFor();
  await say(host.page, 'offline');
  await lines(host.page, 'offline').filter({ hasText: 'not sent yet' }).waitFor();
  await host.context.setOffline(false);
  await say(host.page, 'after');
  // Between the lines, the game may say that somebody left or joined.
  const said = ['before', 'during', 'offline', 'after'];
  await becomes(async () => {
    const texts = await lines(guest.page, '').allInnerTexts();
    return texts.map((text) => text.replace(/^.*\s/, '')).filter((text) => said.includes(text));
  }, said);

  // A page that closes at once after "Leave" has left.
  await guest.page.getByRole('button', { name: 'Leave game' }).click();
  await guest.page.getByRole('dialog').getByRole('button', { name: 'Leave game' }).click();
  await guest.close();
  await lines(host.page, 'ぶんた left').waitFor();
  await host.close();
});
