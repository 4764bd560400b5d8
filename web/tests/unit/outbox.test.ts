/** The outbox of unsent clicks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ATTEMPTS_BEFORE_NOTICE,
  KEY_AGE_MAX_MS,
  Outbox,
  OUTBOX_CLICKS_MAX,
  parseUnsentClick,
  type OutboxWorld,
  type PendingClick,
} from '../../src/clicks/outbox.ts';
import { ApiError } from '../../src/shared/api.ts';

/** An environment in which waiting only moves the clock, with scripted responses of the server. */
class World implements OutboxWorld {
  clockMs = 1_000_000;
  online = true;
  sent: string[] = [];
  stored: string[] = [];
  waits: number[] = [];
  clicks: readonly PendingClick[] = [];
  #keys = 0;

  constructor(readonly answer: (attempt: number) => ApiError | null) {}

  send = async (click: { key: string }): Promise<void> => {
    this.sent.push(click.key);
    const error = this.answer(this.sent.length);
    if (error) throw error;
  };
  newKey = (): string => `key-${++this.#keys}`;
  nowMs = (): number => this.clockMs;
  wait = async (ms: number): Promise<void> => {
    this.waits.push(ms);
    this.clockMs += ms;
  };
  random = (): number => 1;
  isOnline = (): boolean => this.online;
  onChange = (clicks: readonly PendingClick[]): void => {
    this.clicks = clicks;
  };
  onStored = (click: { key: string }): void => {
    this.stored.push(click.key);
  };
}

const noAnswer = new ApiError(null);
const problem = (status: number, type = 'about:blank') =>
  new ApiError({ type, title: 'no', status, detail: null, members: {} });

/** Waits until all promises that can settle have settled. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('a stored click leaves the outbox', async () => {
  const world = new World(() => null);
  new Outbox(world).add('ann', 'tide');
  await settle();
  assert.deepEqual(world.stored, ['key-1']);
  assert.deepEqual(world.clicks, []);
});

test('a click without a response is sent again with the same key', async () => {
  const world = new World((attempt) => (attempt < 3 ? noAnswer : null));
  new Outbox(world).add('ann', 'tide');
  await settle();
  assert.deepEqual(world.sent, ['key-1', 'key-1', 'key-1']);
  assert.deepEqual(world.stored, ['key-1']);
  assert.ok(world.waits[1]! > world.waits[0]!, 'the waits grow');
});

test('a click is retried until there is a response, with a capped backoff', async () => {
  const world = new World((attempt) => (attempt <= 40 ? problem(503) : null));
  new Outbox(world).add('ann', 'tide');
  for (let i = 0; i < 20; i++) await settle();
  assert.deepEqual(new Set(world.sent), new Set(['key-1']));
  assert.deepEqual(world.stored, ['key-1']);
  assert.equal(Math.max(...world.waits), 30_000);
  assert.ok(ATTEMPTS_BEFORE_NOTICE < 40);
});

test('flush ends the pause before the next attempt', async () => {
  const world = new World((attempt) => (attempt === 1 ? noAnswer : null));
  const outbox = new Outbox({ ...world, wait: () => new Promise(() => {}) });
  outbox.add('ann', 'tide');
  await settle();
  assert.deepEqual(world.stored, []);
  outbox.flush();
  await settle();
  assert.deepEqual([world.sent, world.stored], [['key-1', 'key-1'], ['key-1']]);
});

test('a click that another tab has sent is not sent again', async () => {
  const world = new World(() => noAnswer);
  const outbox = new Outbox({ ...world, wait: () => new Promise(() => {}) });
  outbox.add('ann', 'tide');
  await settle();
  outbox.settledElsewhere('key-1');
  outbox.flush();
  await settle();
  assert.deepEqual(world.sent, ['key-1']);
});

test('a rejected click is not sent again and stays with its reason until it is dismissed', async () => {
  const world = new World(() => problem(400));
  const outbox = new Outbox(world);
  outbox.add('ann', 'tide');
  await settle();
  assert.equal(world.sent.length, 1);
  assert.equal(world.clicks[0]?.state, 'refused');
  assert.equal(world.clicks[0]?.error?.problem?.status, 400);
  outbox.dismissAll();
  assert.deepEqual(world.clicks, []);
});

test('offline clicks wait without an attempt', async () => {
  const world = new World(() => null);
  world.online = false;
  const outbox = new Outbox(world);
  outbox.add('ann', 'tide');
  outbox.add('ann', 'tide');
  await settle();
  assert.deepEqual(world.sent, []);
  world.online = true;
  outbox.flush();
  await settle();
  assert.deepEqual(world.stored, ['key-1', 'key-2']);
});

test('a click without attempts gets a new key when its key is too old', async () => {
  const world = new World(() => null);
  world.online = false;
  const outbox = new Outbox(world);
  outbox.add('ann', 'tide');
  world.clockMs += KEY_AGE_MAX_MS + 1;
  world.online = true;
  outbox.flush();
  await settle();
  assert.deepEqual(world.stored, ['key-2']);
});

test('a click with attempts gets a new key only when the server has rejected the old one as too old', async () => {
  const world = new World((attempt) => (attempt === 1 ? noAnswer : null));
  const outbox = new Outbox(world);
  outbox.add('ann', 'tide');
  world.clockMs += KEY_AGE_MAX_MS + 1;
  await settle();
  assert.deepEqual(world.sent, ['key-1', 'key-1'], 'it is asked, however old it is');

  const answers = [noAnswer, problem(400, 'urn:tidemark:problem:idempotency-key-time'), null];
  const late = new World((attempt) => answers[attempt - 1] ?? null);
  new Outbox(late).add('ann', 'tide');
  await settle();
  assert.deepEqual([late.sent, late.stored], [['key-1', 'key-1', 'key-2'], ['key-2']]);

  const never = new World(() => problem(400, 'urn:tidemark:problem:idempotency-key-time'));
  new Outbox(never).add('ann', 'tide');
  await settle();
  assert.deepEqual([never.sent.length, never.clicks[0]?.state], [2, 'refused']);
});

test('many clicks are sent, a few in parallel', async () => {
  let inFlight = 0;
  let most = 0;
  const world = new World(() => null);
  const send = async (click: { key: string }) => {
    most = Math.max(most, ++inFlight);
    await settle();
    inFlight -= 1;
    world.sent.push(click.key);
  };
  const outbox = new Outbox({ ...world, send });
  for (let i = 0; i < 20; i++) outbox.add('ann', 'tide');
  for (let i = 0; i < 40; i++) await settle();
  assert.equal(new Set(world.stored).size, 20);
  assert.ok(most > 1 && most <= 4, `${most} at once`);
});

test('a full outbox accepts no more clicks', () => {
  const world = new World(() => null);
  world.online = false;
  const outbox = new Outbox(world);
  for (let i = 0; i < OUTBOX_CLICKS_MAX; i++) assert.equal(outbox.add('ann', 'tide'), true);
  assert.equal(outbox.add('ann', 'tide'), false);
});

test('stored clicks of an earlier visit are sent with their keys', async () => {
  const before = new World(() => null);
  before.online = false;
  new Outbox(before).add('ann', 'tide');
  const kept = parseUnsentClick(JSON.stringify(before.clicks[0]));
  assert.ok(kept);
  const world = new World(() => null);
  new Outbox(world, [kept]).flush();
  await settle();
  assert.deepEqual(world.stored, ['key-1']);
});

test('a click keeps its target until it is sent, also in the next visit', async () => {
  const before = new World(() => null);
  before.online = false;
  new Outbox(before).add('ann', '/pricing');
  const kept = parseUnsentClick(JSON.stringify(before.clicks[0]));
  assert.ok(kept);
  const targets: (string | undefined)[] = [];
  const send = async (click: { target?: string }) => void targets.push(click.target);
  new Outbox({ ...new World(() => null), send }, [kept]).flush();
  await settle();
  assert.deepEqual(targets, ['/pricing']);
});

test('a stored click of an earlier version, without a target, is still sent', async () => {
  const before = new World(() => null);
  before.online = false;
  new Outbox(before).add('ann', 'tide');
  const { target: _, ...old } = before.clicks[0]!;
  const kept = parseUnsentClick(JSON.stringify(old));
  assert.ok(kept);
  assert.equal(kept.target, undefined);
  const world = new World(() => null);
  new Outbox(world, [kept]).flush();
  await settle();
  assert.deepEqual(world.stored, ['key-1']);
  assert.equal(parseUnsentClick(JSON.stringify({ ...old, target: 7 })), null);
});

test('a stored text that is not a click is ignored', () => {
  for (const text of [null, '', '{', 'null', '{"a":1}', '[]', '{"key":"k"}'])
    assert.equal(parseUnsentClick(text), null);
});
