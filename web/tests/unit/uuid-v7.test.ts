/** UUID version 7. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uuidV7 } from '../../src/shared/uuid-v7.ts';

test('the example of RFC 9562 is reproduced', () => {
  const random = Uint8Array.from([0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f]);
  assert.equal(uuidV7(0x017f22e279b0, random), '017f22e2-79b0-7cc3-98c4-dc0c0c07398f');
});

test('the version and the variant are set for any random bits', () => {
  for (const filled of [0x00, 0xff]) {
    const id = uuidV7(Date.UTC(2025, 9, 2), new Uint8Array(10).fill(filled));
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});

test('the embedded time is the one that was given, to the millisecond', () => {
  const epochMs = Date.parse('2025-10-02T10:30:00.123Z');
  const id = uuidV7(epochMs + 0.9, new Uint8Array(10));
  assert.equal(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16), epochMs);
});

test('later ids sort after earlier ones', () => {
  const ids = [1, 255, 256, 2 ** 32, 2 ** 47].map((ms) => uuidV7(ms, new Uint8Array(10).fill(0xff)));
  assert.deepEqual(ids, ids.toSorted());
});
