/** The estimate of the server's clock. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observeServerDate, serverNowMs } from '../../src/shared/clock.ts';

const NOW_MS = Date.parse('2025-10-02T10:30:00.000Z');

test('a clock that is an hour behind is corrected by the Date header', (context) => {
  context.mock.timers.enable({ apis: ['Date'], now: NOW_MS - 3_600_000 });
  observeServerDate('Thu, 02 Oct 2025 10:30:00 GMT', Date.now());
  assert.ok(Math.abs(serverNowMs() - NOW_MS) <= 1_000);
});

test('the resolution of the header is not taken for a wrong clock', (context) => {
  context.mock.timers.enable({ apis: ['Date'], now: NOW_MS });
  observeServerDate('Thu, 02 Oct 2025 10:29:59 GMT', Date.now());
  assert.equal(serverNowMs(), NOW_MS);
});

test('a missing or unreadable header changes nothing', (context) => {
  context.mock.timers.enable({ apis: ['Date'], now: NOW_MS - 3_600_000 });
  observeServerDate('Thu, 02 Oct 2025 10:30:00 GMT', Date.now());
  const before = serverNowMs();
  observeServerDate(null, Date.now());
  observeServerDate('soon', Date.now());
  assert.equal(serverNowMs(), before);
});
