import assert from 'node:assert/strict';
import { test } from 'node:test';
import { available, isAnyOn, isOn, limitedTo, onlyFunction, switched, type Faults } from '../../src/operator/faults.ts';

const none: Faults = {
  functions: { function: null, fail: {}, kill_before: { next: 0, probability: 0 }, delay_ms: 0 },
  sockets: { cut: { next: 0, probability: 0 } },
  engine: { fail_before: {}, fail_after: {}, failure_reply: 'internal_server_error' },
};

test('each switch turns its own fault on and off', () => {
  assert.equal(isAnyOn(none), false);
  for (const name of available(none)) {
    const on = switched(none, name, true);
    assert.deepEqual(
      available(on).filter((other) => isOn(on, other)),
      [name],
    );
    assert.equal(isAnyOn(switched(on, name, false)), false, name);
  }
});

test('a switch keeps the faults that others have set', () => {
  const others: Faults = { ...none, functions: { fail: { journal: 3 }, delay_ms: 20 } };
  const on = switched(others, 'killAfter', true);
  assert.deepEqual(on['functions'], { fail: { journal: 3 }, delay_ms: 20, kill_after: { probability: 0.1 } });
  assert.equal(isAnyOn(switched(on, 'killAfter', false)), true);
});

test('a switch of DynamoDB keeps the other faults of the engine', () => {
  const others: Faults = { ...none, engine: { throttle: true, delay_ms: 5, fail_before: {}, fail_after: {} } };
  assert.equal(isAnyOn(others), true);
  const off = switched(switched(others, 'lose', true), 'lose', false)['engine'];
  assert.deepEqual(
    { ...(off as object), failure_reply: null },
    { ...(others['engine'] as object), failure_reply: null },
  );
});

test('lost replies and throttling exclude each other', () => {
  const both = switched(switched(none, 'throttle', true), 'lose', true);
  assert.deepEqual([isOn(both, 'throttle'), isOn(both, 'lose')], [false, true]);
});

test('faults of functions can be limited to one function', () => {
  const limited = limitedTo(switched(none, 'slow', true), 'journal');
  assert.deepEqual([onlyFunction(limited), isOn(limited, 'slow')], ['journal', true]);
  assert.equal(onlyFunction(limitedTo(limited, null)), null);
});

test('without the embedded engine, DynamoDB has no switches', () => {
  assert.deepEqual(available({ ...none, engine: null }), ['killBefore', 'killAfter', 'twice', 'slow', 'cut']);
});
