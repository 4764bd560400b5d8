import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STAGGER_MS, Ticker } from '../../src/game/ticker.ts';
import { exampleRoom, FakeTime } from './game-fakes.ts';

const room = exampleRoom('room-drawing-guesser');
const nextMs = room.turn!.nextMs;

function setUp(playerId: string) {
  const time = new FakeTime();
  const ticks: number[] = [];
  const ticker = new Ticker(time.later, (version) => ticks.push(version));
  ticker.see(room, playerId);
  return { time, ticks, ticker };
}

test('the first player ticks when the time is up, the third a little later', () => {
  for (const place of [0, 2]) {
    const { time, ticks } = setUp(room.players[place]!.playerId);
    time.pass(nextMs + place * STAGGER_MS - 1);
    assert.deepEqual(ticks, []);
    time.pass(1);
    assert.deepEqual(ticks, [room.version]);
  }
});

test('a spectator ticks after all players', () => {
  const { time, ticks } = setUp('nobody');
  time.pass(nextMs + room.players.length * STAGGER_MS - 1);
  assert.deepEqual(ticks, []);
  time.pass(1);
  assert.deepEqual(ticks, [room.version]);
});

test('a newer room cancels the tick', () => {
  const { time, ticks, ticker } = setUp(room.players[1]!.playerId);
  time.pass(nextMs);
  const turn = { ...room.turn!, nextMs: 5_000 };
  ticker.see({ ...room, version: room.version + 1, turn }, room.players[1]!.playerId);
  time.pass(4_000);
  assert.deepEqual(ticks, []);
  time.pass(1_200);
  assert.deepEqual(ticks, [room.version + 1]);
});

test('after a tick that was too early, the client waits for the remaining time', () => {
  const { time, ticks, ticker } = setUp(room.players[0]!.playerId);
  time.pass(nextMs);
  ticker.wait(room.version, 800);
  time.pass(799);
  assert.equal(ticks.length, 1);
  time.pass(1);
  assert.equal(ticks.length, 2);
});

test('without a timed change no tick is sent', () => {
  const { time, ticks, ticker } = setUp(room.players[0]!.playerId);
  time.pass(nextMs);
  ticker.wait(room.version, null);
  time.pass(60_000);
  assert.equal(ticks.length, 1);
});

test('a wait for an older version is ignored', () => {
  const { time, ticks, ticker } = setUp(room.players[0]!.playerId);
  ticker.wait(room.version - 1, 60_000);
  time.pass(nextMs);
  assert.equal(ticks.length, 1);
});

test('a tick without an answer is repeated with a growing delay', () => {
  const { time, ticks } = setUp(room.players[0]!.playerId);
  time.pass(nextMs + 2_000 + 4_000);
  assert.equal(ticks.length, 3);
  time.pass(10 * 60_000);
  assert.ok(ticks.length < 30, `${ticks.length} ticks`);
});

test('no tick is sent while the game is paused, has no turn or was left', () => {
  for (const stop of ['paused', 'no turn', 'left']) {
    const { time, ticks, ticker } = setUp(room.players[0]!.playerId);
    if (stop === 'paused') ticker.see({ ...room, paused: true }, '');
    if (stop === 'no turn') ticker.see(exampleRoom('room-finished'), '');
    if (stop === 'left') ticker.stop();
    time.pass(60_000);
    assert.deepEqual(ticks, [], stop);
  }
});
