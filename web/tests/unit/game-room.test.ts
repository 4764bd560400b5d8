import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { addLines, CHAT_LINES_MAX } from '../../src/game/chatLog.ts';
import { parseMessage, type ClientMessage, type Line } from '../../src/game/protocol.ts';
import { isNewer, phaseMs, remainingMs } from '../../src/game/roomTime.ts';
import { scoreboardRows } from '../../src/game/scoreboard.ts';
import { example, exampleRoom } from './game-fakes.ts';

const drawing = exampleRoom('room-drawing-guesser');

for (const file of readdirSync('tests/protocol')) {
  test(`the page parses ${file} completely`, () => {
    const text = readFileSync(`tests/protocol/${file}`, 'utf8');
    const message = parseMessage(text);
    assert.ok(message !== null);
    // The page ignores `protocol`, because there is only one version.
    const { protocol: _, ...told } = JSON.parse(text) as Record<string, unknown>;
    assertContains(message, told, file);
  });
}

/** Checks that every sent member is there. Missing members may have become empty values. */
function assertContains(actual: unknown, told: unknown, path: string): void {
  if (typeof told !== 'object' || told === null) {
    assert.equal(actual, told, path);
    return;
  }
  for (const [key, value] of Object.entries(told)) {
    assertContains((actual as Record<string, unknown>)[key], value, `${path}.${key}`);
  }
}

test('unknown and malformed messages are ignored', () => {
  const welcome = example('welcome');
  for (const text of [
    '',
    '{',
    'null',
    '[]',
    '{}',
    '{"type":"later"}',
    '{"type":"room"}',
    '{"type":"chat","lines":[{}]}',
  ]) {
    assert.equal(parseMessage(text), null, text);
  }
  assert.equal(parseMessage(welcome.replace('"waiting"', '"asleep"')), null);
});

test('unknown members are ignored', () => {
  assert.deepEqual(parseMessage('{"type":"pong","more":{"a":1}}'), { type: 'pong' });
});

test('every message that the page sends has the shape of a sample event', () => {
  const turnId = '02.01';
  const settings = {
    timeLimit: 80,
    roundCount: 3,
    playerCount: 8,
    hints: true,
    words: 'both',
    language: 'ja',
    scoring: 'none',
  } as const;
  const ours: readonly ClientMessage[] = [
    { action: 'hello', protocol: 1 },
    { action: 'ping' },
    { action: 'configure', settings },
    { action: 'ready', ready: true },
    { action: 'start' },
    { action: 'choose', turnId, option: 1 },
    { action: 'choose', turnId, word: 'ねこ' },
    { action: 'react', turnId, reaction: 'laugh' },
    { action: 'say', id: 'a', text: 'ねこ' },
    { action: 'tick', version: 41 },
    { action: 'skip', turnId },
    { action: 'kick', playerId: 'a' },
    { action: 'leave' },
    { action: 'rematch' },
    { action: 'share', shared: true },
  ];
  const cases = readFileSync('../tests/cases/game/ws-message/messages.txt', 'utf8').split('\n### ');
  const samples = cases.map((text) => form(parsed(text.split('\n\n')[1] ?? '')));
  for (const message of ours) assert.ok(samples.includes(form(message)), `${message.action} has no sample`);
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The members with their types; for `action` its value. */
function form(value: unknown): string {
  if (typeof value !== 'object' || value === null) return typeof value;
  const members = Object.entries(value).map(([key, member]) => `${key}:${key === 'action' ? member : form(member)}`);
  return `{${members.sort().join()}}`;
}

test('an older room is dropped, the same or a newer version is accepted, another game never', () => {
  assert.equal(isNewer({ ...drawing, version: 40 }, drawing), false);
  assert.equal(isNewer({ ...drawing }, drawing), true);
  assert.equal(isNewer({ ...drawing, version: 42 }, drawing), true);
  assert.equal(isNewer({ ...drawing, version: 99, gameId: 'another' }, drawing), false);
});

test('time is counted from the arrival of the room, and stands still while the game is paused', () => {
  assert.equal(remainingMs(drawing, 0), 41_200);
  assert.equal(remainingMs(drawing, 41_000), 200);
  assert.equal(remainingMs(drawing, 50_000), 0);
  assert.equal(remainingMs(exampleRoom('room-paused'), 50_000), 41_200);
  assert.equal(remainingMs(exampleRoom('room-finished'), 0), 0);
  assert.equal(phaseMs(drawing), 80_000);
});

test('the scoreboard is sorted by points, and equal scores share a rank', () => {
  const board = scoreboardRows({
    ...drawing,
    players: drawing.players.map((player, i) => ({ ...player, score: [5, 9, 9, 0][i]! })),
  });
  assert.deepEqual(
    board.map(({ player, rank }) => [player.name, rank]),
    [
      ['ぶんた', 1],
      ['Chie', 1],
      ['あんず', 3],
      ['だいき', 4],
    ],
  );
  assert.deepEqual(
    board.map(({ isDrawer, solved }) => [isDrawer, solved]),
    [
      [false, null],
      [false, 114],
      [true, null],
      [false, null],
    ],
  );
});

const line = (id: string, playerId = 'x', kind: Line['kind'] = 'talk', at: number | null = null): Line => ({
  id,
  playerId,
  name: 'x',
  text: id,
  kind,
  at,
});

test('a line that comes twice is shown once', () => {
  const once = addLines([], [line('a'), line('b'), line('a')], null);
  assert.deepEqual(
    addLines(once, [line('b'), line('c')], null).map((each) => each.id),
    ['a', 'b', 'c'],
  );
  assert.equal(addLines(once, [line('a')], null), once);
});

test('lines have one order, in whatever order they arrive', () => {
  const at = (id: string, ms: number) => line(id, 'x', 'talk', ms);
  const [a, b, c, d] = [at('a', 1), at('b', 2), at('c', 2), at('d', 3)];
  for (const arrived of [
    [a, b, c, d],
    [d, c, b, a],
    [b, d, a, c],
  ]) {
    const log = arrived.reduce<ReturnType<typeof addLines>>((log, line) => addLines(log, [line], null), []);
    assert.equal(log.map((each) => each.id).join(''), 'abcd');
  }
});

test('a long game keeps its newest lines', () => {
  const all = Array.from({ length: CHAT_LINES_MAX + 30 }, (_, i) => line(String(i)));
  const kept = addLines([], all, null);
  assert.equal(kept.length, CHAT_LINES_MAX);
  assert.equal(kept.at(-1)?.id, String(CHAT_LINES_MAX + 29));
});

test('messages of the drawer and the solvers are marked as secret while others guess', () => {
  const { drawerId, solvers } = drawing.turn!;
  const secrets = addLines(
    [],
    [line('a', drawerId), line('b', solvers[0]!.playerId), line('c', 'guesser'), line('d', drawerId, 'system')],
    drawing,
  );
  assert.deepEqual(
    secrets.map((each) => each.secret),
    [true, true, false, false],
  );
  assert.equal(addLines([], [line('a', drawerId)], exampleRoom('room-reveal'))[0]?.secret, false);
});
