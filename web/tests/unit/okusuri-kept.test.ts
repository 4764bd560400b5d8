/** The answers that are kept for reading without a network. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ANSWERS_MAX, Kept } from '../../src/okusuri/kept.ts';

function storage(text: string | null = null) {
  return { text, read: () => text, write: (next: string | null) => void (text = next) };
}

test('the last answer to a question is kept, over a reload too', () => {
  const world = storage();
  new Kept(world).write('status', { streak: 3 }, 1);
  new Kept(world).write('status', { streak: 4 }, 2);
  assert.deepEqual(new Kept(world).read('status'), { atMs: 2, body: { streak: 4 } });
  assert.equal(new Kept(world).read('me'), null);
});

test('the oldest answers make room', () => {
  const kept = new Kept(storage());
  for (let i = 0; i <= ANSWERS_MAX; i++) kept.write(`calendar/${i}`, {}, i);
  assert.equal(kept.read('calendar/0'), null);
  assert.notEqual(kept.read('calendar/1'), null);
});

test('forgetting leaves nothing', () => {
  const world = storage();
  const kept = new Kept(world);
  kept.write('status', { streak: 3 }, 1);
  kept.forget();
  assert.equal(world.read(), null);
});

test('what was edited by hand is nothing', () => {
  for (const text of ['', 'x', '{}', '[["status"]]', '[["status", {"atMs": "1", "body": {}}]]'])
    assert.equal(new Kept(storage(text)).read('status'), null);
});
