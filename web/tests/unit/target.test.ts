/** Targets of clicks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isVisible, ranked, shareOf, targetFault, TARGET_DEFAULT } from '../../src/clicks/target.ts';

test('a target has 1 to 100 characters, counted as code points', () => {
  assert.equal(targetFault(TARGET_DEFAULT), null);
  assert.equal(targetFault(''), 'empty');
  assert.equal(targetFault('潮'.repeat(100)), null);
  assert.equal(targetFault('🌊'.repeat(100)), null);
  assert.equal(targetFault('🌊'.repeat(101)), 'tooLong');
});

test('control characters are rejected, other signs are not', () => {
  for (const control of ['\n', '\t', '\0', '\u007f', '\u0085']) assert.equal(targetFault(`a${control}b`), 'control');
  assert.equal(targetFault('#/pricing?a=b&c=<d>'), null);
});

test('a target of spaces and invisible characters is not visible', () => {
  for (const blank of [' ', '\u00a0', '\u200b', '\u3164', '\u2800', '\u202e', '\ufe0f']) {
    assert.equal(isVisible(blank), false, JSON.stringify(blank));
  }
  for (const text of ['tide', ' a ', '灯台', '🌊', 'الموج', '-']) assert.equal(isVisible(text), true, text);
});

test('targets of several days rank by the sum of their clicks', () => {
  const of = (target: string, totalClicks: number) => ({ target, totalClicks, uniqueUsers: 1 });
  assert.deepEqual(ranked([[of('a', 5), of('b', 4)], [], [of('b', 2)]]), [
    { target: 'b', totalClicks: 6 },
    { target: 'a', totalClicks: 5 },
  ]);
});

test('a share is between 0 and 1, also while the sum of the day is behind', () => {
  assert.equal(shareOf(25, 100), 0.25);
  assert.equal(shareOf(5, 4), 1);
  assert.equal(shareOf(1, 0), 1);
  assert.equal(shareOf(0, 0), 0);
});
