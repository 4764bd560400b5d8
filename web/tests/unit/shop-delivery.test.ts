/** Changes on their way: each takes effect once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../src/shared/api.ts';
import { ATTEMPTS_MAX, Delivery } from '../../src/shop/delivery.ts';

const problem = (status: number): ApiError =>
  new ApiError({ type: 'about:blank', title: 'no', status, detail: null, members: {} });

/** A browser's storage, keys that can be told apart, and no time that passes. */
class World {
  stored: string | null = null;
  made = 0;
  read = (): string | null => this.stored;
  write = (text: string | null): void => void (this.stored = text);
  newKey = (): string => `key-${++this.made}`;
  wait = async (): Promise<void> => {};
  random = (): number => 0.5;
}

/** Answers in turn; the last one stays. Remembers the keys. */
function server(...outcomes: readonly (ApiError | string)[]): {
  keys: string[];
  attempt: (key: string) => Promise<string>;
} {
  const keys: string[] = [];
  return {
    keys,
    attempt: async (key) => {
      const outcome = outcomes[Math.min(keys.length, outcomes.length - 1)]!;
      keys.push(key);
      if (outcome instanceof ApiError) throw outcome;
      return outcome;
    },
  };
}

test('a change that fails for the moment is sent again under its key', async () => {
  const { keys, attempt } = server(new ApiError(null), problem(503), 'done');
  assert.equal(await new Delivery(new World()).send('a', attempt), 'done');
  assert.deepEqual(keys, ['key-1', 'key-1', 'key-1']);
});

test('attempts end, and whoever presses again sends the same key, also after a reload', async () => {
  const world = new World();
  const silent = server(new ApiError(null));
  await assert.rejects(new Delivery(world).send('a', silent.attempt), ApiError);
  assert.equal(silent.keys.length, ATTEMPTS_MAX);
  const answering = server('done');
  await new Delivery(world).send('a', answering.attempt);
  assert.deepEqual(answering.keys, ['key-1']);
  assert.equal(world.stored, null);
});

test('the same change, once it has been done or refused, is a new one', async () => {
  const world = new World();
  const delivery = new Delivery(world);
  const done = server('done');
  await delivery.send('a', done.attempt);
  await delivery.send('a', done.attempt);
  assert.deepEqual(done.keys, ['key-1', 'key-2']);
  const refusing = server(problem(409));
  await assert.rejects(delivery.send('a', refusing.attempt));
  await assert.rejects(delivery.send('a', refusing.attempt));
  assert.deepEqual(refusing.keys, ['key-3', 'key-4']);
});

test('another change has another key', async () => {
  const delivery = new Delivery(new World());
  const silent = server(new ApiError(null));
  await assert.rejects(delivery.send('a', silent.attempt));
  await assert.rejects(delivery.send('b', silent.attempt));
  assert.deepEqual(new Set(silent.keys), new Set(['key-1', 'key-2']));
});

test('a memory that somebody has edited is none', async () => {
  for (const stored of ['{', '{"a":"b"}', '[["a"]]', '[[1,2]]', '[null]']) {
    const world = new World();
    world.stored = stored;
    const { keys, attempt } = server('done');
    await new Delivery(world).send('a', attempt);
    assert.deepEqual(keys, ['key-1'], stored);
  }
});
