/** The scale of the clicks gauge. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gaugeScale, gaugeTicks } from '../../src/clicks/gauge.ts';

test('more clicks are higher, and the highest stay below the number', () => {
  for (const highest of [0, 1, 10, 999, 123_456]) {
    const scale = gaugeScale(highest);
    assert.ok(scale.heightPercent(0) > 0);
    assert.ok(scale.heightPercent(highest) <= 62);
    assert.ok(scale.heightPercent(highest / 2) <= scale.heightPercent(highest));
  }
});

test('ticks are few, round, whole and within the scale', () => {
  assert.deepEqual(gaugeTicks(11.2), [0, 5, 10]);
  assert.deepEqual(gaugeTicks(2_240), [0, 500, 1_000, 1_500, 2_000]);
  for (const top of [3, 11.2, 99, 1_234, 5e6]) {
    const ticks = gaugeTicks(top);
    assert.ok(ticks.length >= 3 && ticks.length <= 6, `${top}: ${ticks.join()}`);
    assert.ok(ticks.every((tick) => Number.isInteger(tick) && tick <= top));
  }
});
