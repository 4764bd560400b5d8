/** The records in quarantine on the operator's page. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endingOf, waitingOf } from '../../src/operator/quarantine.ts';

const kept = (id: string, quarantinedAt: string, ending?: string) => ({
  ...{ id, code: 'click-count', message: 'not a number', quarantinedAt },
  ...(ending === undefined ? {} : { ending }),
});

test('a record of two statistics is shown once, while one of them waits', () => {
  const waiting = waitingOf([
    kept('b', '2026-11-02T00:00:00Z'),
    kept('b', '2026-11-02T00:00:00Z', 'counted'),
    kept('a', '2026-11-01T00:00:00Z'),
    kept('c', '2026-10-01T00:00:00Z', 'dismissed'),
  ]);
  assert.deepEqual(
    waiting.map(({ id }) => id),
    ['a', 'b'],
  );
});

test('a record is settled when every statistic has settled it', () => {
  assert.equal(endingOf([{ ending: 'counted' }, { ending: 'counted' }]), 'counted');
  assert.equal(endingOf([{ ending: 'counted' }, { ending: null }]), 'unreadable');
  assert.equal(endingOf([]), 'unreadable');
});
