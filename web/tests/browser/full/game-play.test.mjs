/** A game from message to message, against a scripted server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewports } from '../../chromium.mjs';
import { table } from '../../game-scenes.mjs';
import { line, useGame } from '../game-page.mjs';
import { anzu, bunta, chie, example, gameId, GameServer } from '../game-server.mjs';
import { becomes, until } from '../harness.mjs';

/** @import { Json } from '../game-server.mjs' */

const { open, sit } = useGame();

test('the notice of a close guess stays until the next guess, or for some seconds', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  const near = await example('near');
  const notice = line(page, 'is close!');
  server.say(near);
  await notice.waitFor();
  const field = page.getByLabel('Your guess');
  await field.fill('くじら');
  await field.press('Enter');
  await notice.waitFor({ state: 'detached' });
  await server.hears('say');

  await page.clock.install();
  server.say(near);
  await notice.waitFor();
  await page.clock.fastForward('00:09');
  await notice.waitFor({ state: 'detached' });
  await close();
});

test('an English game has English words, with the letters of each word counted', async () => {
  const { room } = await example('room-drawing-guesser');
  const english = { settings: { ...room.settings, language: 'en' }, turn: { ...room.turn, mask: '＿c＿ ＿＿＿＿＿' } };
  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  await server.show('room-drawing-guesser', english);
  await page.getByText('A word with 3 + 5 letters: letter 2 is c').waitFor({ state: 'attached' });
  assert.equal(await page.getByLabel('Your guess').getAttribute('lang'), 'en');

  server.playerId = anzu;
  const other = await sit('room-choosing-drawer', anzu);
  await other.server.show('room-choosing-drawer', { settings: english.settings });
  const own = other.page.getByLabel('Or enter your own word');
  await other.page.getByText('Latin letters, up to 50 characters.').waitFor();
  await own.fill('くらげ');
  await other.page.getByRole('button', { name: 'Draw this word' }).click();
  await other.page.getByText('Use Latin letters, digits, spaces, hyphens and apostrophes only.').waitFor();
  await own.fill(' Polar  bear ');
  await other.page.getByRole('button', { name: 'Draw this word' }).click();
  const choice = { action: 'choose', turnId: '02.01', word: 'Polar bear' };
  assert.deepEqual(await other.server.hears('choose'), choice);
  await other.close();
  await close();
});

test('a line without an answer ends as not sent, and is sent again or discarded', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  await page.clock.install();
  const field = page.getByLabel('Your guess');
  await field.fill('くじら');
  await field.press('Enter');
  const { id } = await server.hears('say');
  await page.clock.fastForward('00:01');
  await line(page, 'not sent yet').waitFor();
  // The connection lives: only this message is lost.
  await server.hears('ping');
  await page.clock.fastForward('00:10');
  await page.getByText('A message was not sent.').waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Send again' }).click();
  assert.equal((await server.hears('say'))['id'], id);
  await page.clock.fastForward('00:01');
  await server.hears('ping');
  await page.clock.fastForward('00:10');
  await page.getByRole('button', { name: 'Discard' }).click();
  await line(page, 'くじら').waitFor({ state: 'detached' });
  assert.equal(server.connections, 1);
  await close();
});

test('a guess that was too fast shows an error and is put back into the field', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  const field = page.getByLabel('Your guess');
  await field.fill('えんぴつ');
  await field.press('Enter');
  const { id } = await server.hears('say');
  const refused = await example('error');
  const error = { ...refused['error'], type: 'urn:tidemark:problem:too-fast' };
  server.say({ ...refused, error, action: 'say', id });
  await page.getByRole('alert').getByText('That was too fast').waitFor();
  await page.waitForFunction(
    (input) => input instanceof HTMLInputElement && input.value === 'えんぴつ',
    await field.elementHandle(),
  );
  await field.press('Enter');
  assert.equal((await server.hears('say'))['text'], 'えんぴつ');
  await close();
});

test('names and chat lines with HTML are shown as text', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  const text = '<img src=x onerror="document.title=1"><b>x</b>';
  server.say({ type: 'chat', lines: [{ id: 'a', playerId: chie, name: '<i>Chie</i>', text, kind: 'guess' }] });
  await line(page, text).waitFor();
  assert.equal(await page.getByTestId('chat').locator('img').count(), 0);
  await close();
});

test('a letter typed anywhere goes into the guess', async () => {
  const { page, close } = await sit('room-drawing-guesser', bunta);
  await page.evaluate(() => /** @type {HTMLElement | null} */ (document.activeElement)?.blur());
  await page.keyboard.type('ne');
  assert.equal(await page.getByLabel('Your guess').inputValue(), 'ne');
  await close();
});

test('when the time is up, the page sends one tick', async () => {
  const { server, close } = await sit('room-choosing', bunta);
  const { room } = await example('room-drawing-guesser');
  await server.show('room-drawing-guesser', { turn: { ...room.turn, nextMs: 50 } });
  const { version } = await server.hears('tick');
  assert.equal(version, server.room['version']);
  server.say({ type: 'wait', version, nextMs: 20 });
  await server.hears('tick');
  await close();
});

test('a late joiner sees the drawing so far', async () => {
  const server = await GameServer.at('room-drawing-guesser');
  server.batches = [
    { seq: 1, ops: [{ op: 'fill', id: 1, color: 4, at: [5, 5] }] },
    {
      seq: 2,
      ops: [{ op: 'stroke', id: 2, points: [800, 600, 50, 10, 0, 0], color: 3, width: 80, tool: 'pen', end: true }],
    },
  ];
  const { page, close } = await open({ at: table, prepare: (page) => server.seat(page) });
  assert.equal((await server.hears('catch-up'))['after'], 0);
  await page.waitForFunction(() => {
    const pixels = document.querySelector('canvas')?.getContext('2d')?.getImageData(5, 5, 1, 1).data;
    return pixels !== undefined && (pixels[0] !== 255 || pixels[1] !== 255 || pixels[2] !== 255);
  });
  await close();
});

test('the page says that it is offline, and reconnects when it is online', async () => {
  const { server, page, context, close } = await sit('room-drawing-guesser', bunta);
  await context.setOffline(true);
  await server.socket?.close();
  await page.getByText('You are offline.').waitFor();
  await context.setOffline(false);
  await server.hears('hello');
  await page.locator('[data-connection=live]').waitFor({ state: 'attached' });
  await close();
});

test('a game that was opened in another tab can be continued here', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  server.say(await example('replaced'));
  await page.getByRole('heading', { name: 'This game is open in another tab' }).waitFor();
  assert.equal(server.connections, 1);
  await page.getByRole('button', { name: 'Play here' }).click();
  await server.hears('hello');
  await page.getByLabel('Your guess').waitFor();
  await close();
});

test('a kicked player sees why, and the page does not reconnect', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  server.say(await example('kicked'));
  await page.getByRole('heading', { name: 'You were kicked' }).waitFor();
  await page.getByRole('button', { name: 'Back to the start' }).click();
  await page.getByRole('heading', { name: 'Draw it, guess it' }).waitFor();
  assert.equal(await page.getByText('Back to your game').count(), 0);
  assert.equal(server.connections, 1);
  await close();
});

test('the notice about too many messages disappears after some seconds', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  await page.clock.install();
  server.say(await example('error'));
  await page.getByRole('alert').getByText('You are sending too fast').waitFor();
  await page.clock.runFor(7_000);
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await close();
});

test('a vote to kick asks for a second press', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  const board = page.getByRole('complementary', { name: 'Players' });
  await board.getByRole('button', { name: 'Vote to kick Chie', exact: true }).click();
  assert.deepEqual(
    server.heard.filter((message) => message['action'] === 'kick'),
    [],
  );
  await board.getByRole('button', { name: 'Vote to kick Chie?' }).click();
  assert.equal((await server.hears('kick'))['playerId'], chie);
  await close();
});

test('the drawer may skip the turn; the others once the drawer has been away for ten seconds', async () => {
  const first = await sit('room-drawing-drawer', anzu);
  await first.page.getByRole('button', { name: 'Skip this turn' }).click();
  assert.equal((await first.server.hears('skip'))['turnId'], '02.01');
  await first.close();

  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  await page.clock.install();
  const { room } = await example('room-drawing-guesser');
  const players = room.players.map((/** @type {Json} */ player) => ({
    ...player,
    connected: player['playerId'] !== anzu,
  }));
  await server.show('room-drawing-guesser', { players });
  await page.locator('aside .away').first().waitFor();
  assert.equal(await page.getByRole('button', { name: 'Skip the turn?' }).count(), 0);
  await page.clock.runFor(11_000);
  await page.getByRole('button', { name: 'あんず is away. Skip the turn?' }).click();
  await server.hears('skip');
  await close();
});

test('a rematch of another player is offered, not joined automatically', async () => {
  const { server, page, close } = await sit('room-finished', anzu);
  server.say(await example('rematch'));
  await page.getByRole('button', { name: 'Join the rematch' }).waitFor();
  assert.match(page.url(), new RegExp(gameId));
  await close();
});

test('leaving asks for confirmation, then gives the seat up', async () => {
  const { server, page, close } = await sit('room-waiting', bunta);
  await page.getByRole('button', { name: 'Leave game' }).click();
  await page.getByRole('button', { name: 'Stay' }).click();
  await page.getByRole('button', { name: 'Leave game' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Leave game' }).click();
  await server.hears('leave');
  await page.getByRole('heading', { name: 'Draw it, guess it' }).waitFor();
  await close();
});

test('the drawings of a finished game can be replayed, and a missing one shows a message', async () => {
  const server = await GameServer.at('room-finished');
  server.playerId = anzu;
  const turn = { id: '01.01', drawerName: 'あんず', answer: 'えんぴつ' };
  server.answers[`GET /games/${gameId}/turns`] = (route) =>
    route.fulfill({ json: { items: [turn, { ...turn, id: '01.02', answer: 'くじら' }] } });
  const { batches } = await example('ink-catch-up');
  server.answers[`GET /games/${gameId}/turns/01.01/drawing`] = (route) => route.fulfill({ json: { batches } });
  const { page, close } = await open({ at: table, prepare: (page) => server.seat(page) });
  await page.getByRole('button', { name: 'えんぴつ' }).click();
  await page.getByRole('img', { name: 'えんぴつ, drawn by あんず' }).waitFor();
  await page.getByRole('button', { name: 'くじら' }).click();
  await page.getByText('No drawing was saved for this turn.').waitFor();
  await close();
});

test('screen readers get the phases, and summaries of the chat', async () => {
  const { server, page, close } = await sit('room-choosing', bunta);
  await page.clock.install();
  const phase = page.getByTestId('phase');
  await phase.getByText('あんず is choosing a word.').waitFor({ state: 'attached' });
  await server.show('room-drawing-guesser');
  await phase.getByText('あんず is drawing a word with 4 letters.').waitFor({ state: 'attached' });
  // The lines below belong to one summary, however slowly they arrive.
  await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 5_000);
  server.say({ type: 'chat', lines: [{ id: 'first', playerId: chie, name: 'Chie', text: 'hi', kind: 'talk' }] });
  await line(page, 'hi').waitFor();
  for (let i = 1; i <= 5; i++) {
    server.say({
      type: 'chat',
      lines: [{ id: `line-${i}`, playerId: chie, name: 'Chie', text: `guess ${i}`, kind: 'guess' }],
    });
  }
  await line(page, 'guess 5').waitFor();
  await page.clock.runFor(3_500);
  assert.match(
    (await page.getByTestId('heard').textContent()) ?? '',
    /Chie: guess 3\. Chie: guess 4\. Chie: guess 5\. and [23] more messages/,
  );
  await close();
});

for (const locale of ['en-GB', 'ja-JP']) {
  test(`on a phone of 320 pixels the chat field stays visible and nothing overflows (${locale})`, async () => {
    const { page, close } = await sit('room-drawing-guesser', bunta, { viewport: viewports.phone, locale });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), viewports.phone.width);
    const field = page.locator('#say');
    const inSight = async () => {
      const [box, canvas] = [await field.boundingBox(), await page.locator('canvas').boundingBox()];
      const height = page.viewportSize()?.height ?? 0;
      return (
        box !== null &&
        canvas !== null &&
        box.y + box.height <= height &&
        canvas.y >= 0 &&
        canvas.y + canvas.height <= box.y
      );
    };
    await becomes(inSight, true);
    // The height with the on-screen keyboard open.
    await page.setViewportSize({ width: 320, height: 360 });
    await page.waitForFunction(() => document.querySelector('.table')?.clientHeight === 360);
    await becomes(inSight, true);
    await close();
  });
}

test('on a phone the reveal stands beside the drawing, and words are not broken', async () => {
  for (const viewport of [
    { width: 390, height: 844 },
    { width: 844, height: 390 },
  ]) {
    const reveal = await sit('room-reveal', bunta, { viewport });
    await until(
      () =>
        Promise.all(['[data-testid=reveal]', 'canvas'].map((what) => reveal.page.locator(what).first().boundingBox())),
      ([shown, board]) =>
        !!shown && !!board && (shown.y >= board.y + board.height - 1 || shown.x >= board.x + board.width - 1),
    );
    await reveal.close();

    const choice = await sit('room-choosing-drawer', anzu, { viewport });
    const { room } = await example('room-choosing-drawer');
    const options = ['hippopotamus', 'grasshopper', 'rollerblades'].map((word) => ({ word }));
    await choice.server.show('room-choosing-drawer', { turn: { ...room['turn'], options } });
    for (const { word } of options) {
      const lines = () =>
        choice.page.getByText(word, { exact: true }).evaluate((text) => {
          const range = document.createRange();
          range.selectNodeContents(text);
          return range.getClientRects().length;
        });
      await becomes(lines, 1);
    }
    await choice.close();
  }
});
