/** Polling. */
import assert from 'node:assert/strict';
import { beforeEach, test, type TestContext } from 'node:test';
import { backoffMs } from '../../src/shared/backoff.ts';
import { Poll } from '../../src/shared/poll.ts';

let rounds = 0;
let failing = false;
let active = true;

beforeEach(() => {
  rounds = 0;
  failing = false;
  active = true;
});

/** A poll every 100 ms on a clock that the test moves. */
function start(context: TestContext): (ms: number) => Promise<void> {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const poll = new Poll({
    task: async () => {
      rounds += 1;
      if (failing) throw new Error('no answer');
    },
    intervalMs: () => 100,
    isActive: () => active,
  });
  context.after(() => poll.stop());
  poll.kick();
  return async (ms) => {
    // A timer is set only after the previous request has settled, so the clock moves in small
    // steps.
    for (let passed = 0; passed < ms; passed += 50) {
      await new Promise((resolve) => setImmediate(resolve));
      context.mock.timers.tick(50);
    }
    await new Promise((resolve) => setImmediate(resolve));
  };
}

test('it sends a request at once and then at its interval', async (context) => {
  const pass = start(context);
  assert.equal(rounds, 1);
  await pass(1_000);
  assert.equal(rounds, 11);
});

test('it backs off while it fails, and recovers', async (context) => {
  failing = true;
  const pass = start(context);
  await pass(40_000);
  assert.ok(rounds >= 4 && rounds < 10, `${rounds} rounds`);
  failing = false;
  await pass(15_000);
  const before = rounds;
  await pass(1_000);
  assert.equal(rounds, before + 10);
});

test('it pauses while it is not active', async (context) => {
  active = false;
  const pass = start(context);
  await pass(1_000);
  assert.equal(rounds, 0);
});

test('a backoff doubles, is capped, and has at most half of it as jitter', () => {
  const shape = { firstMs: 100, maxMs: 1_000 };
  assert.deepEqual(
    [1, 2, 3, 4, 5, 60].map((failures) => backoffMs(shape, failures, 1)),
    [100, 200, 400, 800, 1_000, 1_000],
  );
  assert.equal(backoffMs(shape, 3, 0), 200);
});
