/** The queue of unsent writes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  parseWrites,
  WriteQueue,
  WRITES_MAX,
  type Write,
  type WriteQueueOptions,
} from '../../src/okusuri/writeQueue.ts';
import { ApiError } from '../../src/shared/api.ts';

/** A browser with one storage for all its tabs, and a scripted server. */
class World implements WriteQueueOptions {
  text: string | null = null;
  online = true;
  sent: string[] = [];
  taken: string[] = [];
  signedOut = 0;
  waiting: (() => void)[] = [];
  shown: readonly Write[] = [];
  answer: (attempt: number, write: Write) => Promise<void> | void = () => {};
  #ids = 0;
  #locked: Promise<void> = Promise.resolve();

  read = (): string | null => this.text;
  write = (text: string | null): void => void (this.text = text);
  newId = (): string => `w${++this.#ids}`;
  send = async (write: Write): Promise<void> => {
    this.sent.push(`${write.method} ${write.path}`);
    await this.answer(this.sent.length, write);
  };
  exclusive = (task: () => Promise<void>): Promise<void> => (this.#locked = this.#locked.then(task));
  isOnline = (): boolean => this.online;
  later = (_ms: number, task: () => void): void => void this.waiting.push(task);
  random = (): number => 1;
  onChange = (writes: readonly Write[]): void => void (this.shown = writes);
  onSent = (write: Write): void => void this.taken.push(write.path);
  onSignedOut = (): void => void (this.signedOut += 1);
}

const settle = () => new Promise((resolve) => setImmediate(resolve));
const problem = (status: number, type = 'about:blank') =>
  new ApiError({ type, title: 'no', status, detail: null, members: {} });

test('writes are sent in the order in which they were made, one after the other', async () => {
  const world = new World();
  const answers: (() => void)[] = [];
  world.answer = () => new Promise((resolve) => answers.push(resolve));
  const writes = new WriteQueue(world, 'ann');
  writes.add('PUT', 'logs/2026-11-20', { hasBleeding: false });
  writes.add('PUT', 'logs/2026-11-21', { hasBleeding: true });
  await settle();
  assert.deepEqual(world.sent, ['PUT logs/2026-11-20']);
  answers[0]?.();
  await settle();
  assert.deepEqual(world.sent, ['PUT logs/2026-11-20', 'PUT logs/2026-11-21']);
  answers[1]?.();
  await settle();
  assert.deepEqual(world.taken, ['logs/2026-11-20', 'logs/2026-11-21']);
  assert.equal(world.text, null);
});

test('without a network writes wait, also over a reload, and are sent when it is back', async () => {
  const world = new World();
  world.online = false;
  new WriteQueue(world, 'ann').add('PUT', 'logs/2026-11-20', { hasBleeding: false });
  await settle();
  assert.deepEqual(world.sent, []);
  world.online = true;
  const reloaded = new WriteQueue(world, 'ann');
  assert.equal(reloaded.all.length, 1);
  await reloaded.flush();
  assert.deepEqual(world.taken, ['logs/2026-11-20']);
});

test('of two unsent writes to the same path only the newer is sent, at its own position', async () => {
  const world = new World();
  world.online = false;
  const writes = new WriteQueue(world, 'ann');
  writes.add('PUT', 'logs/2026-11-20', { hasBleeding: false });
  writes.add('PUT', 'logs/2026-11-21', { hasBleeding: false });
  writes.add('DELETE', 'logs/2026-11-20');
  world.online = true;
  await writes.flush();
  assert.deepEqual(world.sent, ['PUT logs/2026-11-21', 'DELETE logs/2026-11-20']);
});

test('a write to a path that is being sent is sent after it', async () => {
  const world = new World();
  let release = (): void => {};
  world.answer = (attempt) => (attempt === 1 ? new Promise<void>((resolve) => (release = resolve)) : undefined);
  const writes = new WriteQueue(world, 'ann');
  writes.add('PUT', 'logs/2026-11-20', { hasBleeding: false });
  await settle();
  writes.add('DELETE', 'logs/2026-11-20');
  assert.equal(world.shown.length, 2);
  release();
  await settle();
  assert.deepEqual(world.sent, ['PUT logs/2026-11-20', 'DELETE logs/2026-11-20']);
  assert.equal(world.text, null);
});

test('a failing server is retried after a backoff, in order', async () => {
  const world = new World();
  world.answer = (attempt) => {
    if (attempt === 1) throw problem(503);
  };
  const writes = new WriteQueue(world, 'ann');
  writes.add('PUT', 'logs/2026-11-20', {});
  await settle();
  assert.deepEqual(world.taken, []);
  assert.equal(world.shown.length, 1);
  world.waiting.pop()?.();
  await settle();
  assert.deepEqual(world.taken, ['logs/2026-11-20']);
});

test('a refused write stays visible, and does not block the others', async () => {
  const world = new World();
  world.answer = (_, write) => {
    if (write.path.endsWith('20')) throw problem(400, 'urn:tidemark:problem:date-in-the-future');
  };
  const writes = new WriteQueue(world, 'ann');
  writes.add('PUT', 'logs/2026-11-20', {});
  writes.add('PUT', 'logs/2026-11-21', {});
  await settle();
  assert.deepEqual(world.taken, ['logs/2026-11-21']);
  assert.deepEqual(
    world.shown.map(({ refusedAs }) => refusedAs),
    ['date-in-the-future'],
  );
  writes.dismissRefused();
  assert.equal(world.text, null);
});

test('deleting an item that is already gone succeeds', async () => {
  const world = new World();
  world.answer = () => {
    throw problem(404);
  };
  new WriteQueue(world, 'ann').add('DELETE', 'logs/2026-11-20');
  await settle();
  assert.deepEqual(world.taken, ['logs/2026-11-20']);
  assert.equal(world.text, null);
});

test('an ended session stops sending and loses nothing', async () => {
  const world = new World();
  world.answer = () => {
    throw problem(401);
  };
  const writes = new WriteQueue(world, 'ann');
  writes.add('PUT', 'logs/2026-11-20', {});
  await settle();
  assert.equal(world.signedOut, 1);
  assert.equal(writes.all.length, 1);
  assert.equal(world.waiting.length, 0);
});

test('writes of one user are not sent in the session of another', async () => {
  const world = new World();
  world.online = false;
  new WriteQueue(world, 'ann').add('PUT', 'logs/2026-11-20', {});
  await settle();
  world.online = true;
  const bob = new WriteQueue(world, 'bob');
  await bob.flush();
  assert.deepEqual(world.sent, []);
  bob.add('PUT', 'logs/2026-11-21', {});
  await settle();
  assert.deepEqual(world.sent, ['PUT logs/2026-11-21']);
});

test('two tabs send each write once', async () => {
  const world = new World();
  world.online = false;
  const [one, other] = [new WriteQueue(world, 'ann'), new WriteQueue(world, 'ann')];
  one.add('PUT', 'logs/2026-11-20', {});
  other.add('PUT', 'logs/2026-11-21', {});
  world.online = true;
  await Promise.all([one.flush(), other.flush()]);
  assert.deepEqual(world.sent, ['PUT logs/2026-11-20', 'PUT logs/2026-11-21']);
});

test('the length of the queue is limited', () => {
  const world = new World();
  world.online = false;
  const writes = new WriteQueue(world, 'ann');
  for (let i = 0; i < WRITES_MAX; i++) assert.ok(writes.add('PUT', `logs/${i}`, {}));
  assert.ok(!writes.add('PUT', 'logs/one-more', {}));
  assert.ok(writes.add('PUT', 'logs/0', {}), 'replacing needs no room');
});

test('invalid stored data counts as none', () => {
  for (const text of ['', 'x', '{}', '[1]', '[{"id":"a"}]', '[null]']) assert.deepEqual(parseWrites(text), []);
});
