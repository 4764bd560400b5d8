/** The cached responses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RESPONSES_MAX, ResponseCache } from '../../src/okusuri/responseCache.ts';

function storage(text: string | null = null) {
  return { text, read: () => text, write: (next: string | null) => void (text = next) };
}

test('the last response of a path is cached, also over a reload', () => {
  const world = storage();
  new ResponseCache(world).write('status', { streak: 3 }, 1);
  new ResponseCache(world).write('status', { streak: 4 }, 2);
  const { atMs, body } = new ResponseCache(world).read('status') ?? {};
  assert.deepEqual([atMs, body], [2, { streak: 4 }]);
  assert.equal(new ResponseCache(world).read('me'), null);
});

test('the oldest responses are dropped', () => {
  const kept = new ResponseCache(storage());
  for (let i = 0; i <= RESPONSES_MAX; i++) kept.write(`calendar/${i}`, {}, i);
  assert.equal(kept.read('calendar/0'), null);
  assert.notEqual(kept.read('calendar/1'), null);
});

test('forget deletes everything', () => {
  const world = storage();
  const kept = new ResponseCache(world);
  kept.write('status', { streak: 3 }, 1);
  kept.forget();
  assert.equal(world.read(), null);
});

test('invalid stored data counts as none', () => {
  for (const text of ['', 'x', '{}', '[["status"]]', '[["status", {"version": 1, "atMs": "1", "body": {}}]]'])
    assert.equal(new ResponseCache(storage(text)).read('status'), null);
});

test('a response that another version of the page has cached counts as none', () => {
  const stored = (version: number): string => JSON.stringify([['status', { version, atMs: 1, body: { streak: 3 } }]]);
  assert.notEqual(new ResponseCache(storage(stored(1))).read('status'), null);
  assert.equal(new ResponseCache(storage(stored(0))).read('status'), null);
});
