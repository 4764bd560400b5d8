/** The sender of changes, which take effect once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../src/shared/api.ts';
import { ATTEMPTS_MAX, IdempotentSender } from '../../src/shop/idempotentSender.ts';

const problem = (status: number): ApiError =>
  new ApiError({ type: 'about:blank', title: 'no', status, detail: null, members: {} });

/** An environment with storage and distinct keys, in which waiting takes no time. */
class World {
  stored: string | null = null;
  made = 0;
  read = (): string | null => this.stored;
  write = (text: string | null): void => void (this.stored = text);
  newKey = (): string => `key-${++this.made}`;
  wait = async (): Promise<void> => {};
  random = (): number => 0.5;
}

/** Returns scripted responses in turn, repeats the last one, and records the keys. */
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

test('a change with a transient failure is retried with the same key', async () => {
  const { keys, attempt } = server(new ApiError(null), problem(503), 'done');
  assert.equal(await new IdempotentSender(new World()).send('a', attempt), 'done');
  assert.deepEqual(keys, ['key-1', 'key-1', 'key-1']);
});

test('after the last attempt, the next submit uses the same key, also after a reload', async () => {
  const world = new World();
  const silent = server(new ApiError(null));
  await assert.rejects(new IdempotentSender(world).send('a', silent.attempt), ApiError);
  assert.equal(silent.keys.length, ATTEMPTS_MAX);
  const answering = server('done');
  await new IdempotentSender(world).send('a', answering.attempt);
  assert.deepEqual(answering.keys, ['key-1']);
  assert.equal(world.stored, null);
});

test('after a known outcome, the same change gets a new key', async () => {
  const world = new World();
  const sender = new IdempotentSender(world);
  const done = server('done');
  await sender.send('a', done.attempt);
  await sender.send('a', done.attempt);
  assert.deepEqual(done.keys, ['key-1', 'key-2']);
  const refusing = server(problem(409));
  await assert.rejects(sender.send('a', refusing.attempt));
  await assert.rejects(sender.send('a', refusing.attempt));
  assert.deepEqual(refusing.keys, ['key-3', 'key-4']);
});

test('another change has another key', async () => {
  const sender = new IdempotentSender(new World());
  const silent = server(new ApiError(null));
  await assert.rejects(sender.send('a', silent.attempt));
  await assert.rejects(sender.send('b', silent.attempt));
  assert.deepEqual(new Set(silent.keys), new Set(['key-1', 'key-2']));
});

test('an edited storage is ignored', async () => {
  for (const stored of ['{', '{"a":"b"}', '[["a"]]', '[[1,2]]', '[null]']) {
    const world = new World();
    world.stored = stored;
    const { keys, attempt } = server('done');
    await new IdempotentSender(world).send('a', attempt);
    assert.deepEqual(keys, ['key-1'], stored);
  }
});
