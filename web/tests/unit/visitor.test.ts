/** Visitor names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameFault, randomName } from '../../src/clicks/visitor.ts';

test('a name has 1 to 128 characters, counted as code points', () => {
  assert.equal(nameFault(''), 'empty');
  assert.equal(nameFault('訪'.repeat(128)), null);
  assert.equal(nameFault('🌊'.repeat(128)), null);
  assert.equal(nameFault('🌊'.repeat(129)), 'tooLong');
});

test('reserved and control characters are rejected', () => {
  assert.equal(nameFault('STAT#DAILY'), 'hash');
  for (const control of ['\n', '\t', '\0', '\u007f', '\u0085']) assert.equal(nameFault(`a${control}b`), 'control');
});

test('a random name is a valid one and uses all its bits', () => {
  assert.equal(randomName(new Uint8Array(5)), 'visitor-00000000');
  assert.equal(randomName(new Uint8Array(5).fill(255)), 'visitor-zzzzzzzz');
  assert.equal(nameFault(randomName(Uint8Array.from([1, 2, 3, 4, 5]))), null);
});
