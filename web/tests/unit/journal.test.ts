/** Entries of the journal: their order, their days, and their texts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entry } from '../../src/journal/api.ts';
import { groupByDay, overlaps, mergeEntries } from '../../src/journal/entries.ts';
import { sentence } from '../../src/journal/sentence.ts';
import { words } from '../../src/journal/words.ts';

const entry = (id: string, attributes: Record<string, string> = {}, atMs = 0): Entry => ({
  id,
  atMs,
  message: `message ${id}`,
  attributes,
});
const ids = (entries: readonly Entry[]): string => entries.map(({ id }) => id).join('');

test('pages are merged without duplicates, newest first', () => {
  assert.equal(ids(mergeEntries([entry('c'), entry('a')], [entry('d'), entry('c')])), 'dca');
  assert.equal(ids(mergeEntries([], [entry('b'), entry('a')])), 'ba');
});

test('an entry that arrives late is inserted at its place', () => {
  assert.equal(ids(mergeEntries([entry('d'), entry('b'), entry('a')], [entry('d'), entry('c'), entry('b')])), 'dcba');
});

test('a newest page that does not reach the known entries leaves a gap', () => {
  const known = [entry('c'), entry('b')];
  assert.ok(overlaps(known, [entry('d'), entry('c')], false));
  assert.ok(!overlaps(known, [entry('f'), entry('e')], false));
  assert.ok(overlaps(known, [entry('f'), entry('e')], true), 'there are no older entries');
  assert.ok(!overlaps(known, [], false), 'an empty page does not reach them');
  assert.ok(overlaps([], [], false));
});

test('entries are grouped by the reader’s days', () => {
  const day = (epochMs: number): string => (epochMs < 100 ? 'old' : 'new');
  const days = groupByDay([entry('c', {}, 101), entry('b', {}, 100), entry('a', {}, 99)], day);
  assert.deepEqual(
    days.map(({ day, entries }) => [day, ids(entries)]),
    [
      ['new', 'cb'],
      ['old', 'a'],
    ],
  );
  assert.deepEqual(groupByDay([], day), []);
});

/** The text of an entry in both languages. */
function texts(attributes: Record<string, string>): string[] {
  return (['en', 'ja'] as const).map((language) => {
    const { productId, text } = sentence(
      entry('x', attributes),
      words[language],
      language === 'en' ? 'en-GB' : 'ja-JP',
    );
    return `${productId ?? ''}${text}`;
  });
}

test('each kind has a text in both languages', () => {
  const lines = [
    { kind: 'game-finished', players: '3', rounds: '1', bestScore: '1270' },
    { kind: 'price-changed', productId: 'p', price: '1500', previousPrice: '2000', currency: 'JPY' },
    { kind: 'price-changed', productId: 'p', price: '1500', currency: 'EUR' },
    { kind: 'price-changed', productId: 'p', price: '1500', previousPrice: '0', currency: 'EUR' },
    { kind: 'stock-moved', productId: 'p', changeType: 'OUT', quantity: '-3', stock: '7' },
    { kind: 'stock-moved', productId: 'p', changeType: 'COUNT', quantity: '-1', stock: '6' },
    { kind: 'low-stock', productId: 'p', stock: '2', lowStockThreshold: '3' },
    { kind: 'out-of-stock', productId: 'p' },
    { kind: 'record-quarantined', reason: 'click-count' },
    { kind: 'record-settled', ending: 'counted' },
    { kind: 'statistics-repaired' },
  ].map(texts);
  assert.deepEqual(lines, [
    [
      'A game with 3 players ended after 1 round. The best score was 1,270.',
      '3人のゲーム(1ラウンド)が終了しました。最高得点は1,270点です。',
    ],
    ['p changed in price from JP¥2,000 to JP¥1,500 (−25%).', 'pの価格が ￥2,000 から ￥1,500 になりました(−25%)。'],
    ['p is now for sale at €15.00.', 'pの販売を €15.00 で開始しました。'],
    ['p changed in price from €0.00 to €15.00.', 'pの価格が €0.00 から €15.00 になりました。'],
    ['p: removed 3, now 7 in stock.', 'pが3点出庫しました。在庫は7点です。'],
    ['p: counted, now 6 in stock (−1).', 'pの棚卸をしました(−1)。在庫は6点です。'],
    ['p is low in stock: 2 left (low-stock level: 3).', 'pの在庫が残り2点になりました(残りわずかの基準:3点)。'],
    ['p is out of stock.', 'pが在庫切れになりました。'],
    [
      'A click record could not be counted and is in quarantine until an operator reviews it (click-count).',
      'クリックの記録を1件集計できなかったため、隔離しました。運用者の確認待ちです(click-count)。',
    ],
    ['A click record from quarantine has been counted.', '隔離されていたクリックの記録を集計しました。'],
    [
      'An operator compared the statistics with the stored clicks and corrected them.',
      '運用者が統計を保存済みのクリックと照合し、修正しました。',
    ],
  ]);
});

test('an unknown kind, or missing or invalid attributes, keep the entry’s own message', () => {
  for (const [attributes, kind] of [
    [{}, 'other'],
    [{ kind: 'harbour-master' }, 'other'],
    [{ kind: 'toString' }, 'other'],
    [{ kind: 'game-finished', players: '3' }, 'game-finished'],
    [{ kind: 'price-changed', price: '1500', currency: 'EUR' }, 'price-changed'],
    [{ kind: 'price-changed', productId: 'p', price: 'much', currency: 'EUR' }, 'price-changed'],
    [{ kind: 'price-changed', productId: 'p', price: '1', previousPrice: '', currency: 'EUR' }, 'price-changed'],
    [{ kind: 'stock-moved', productId: 'p', changeType: 'GONE', quantity: '1', stock: '1' }, 'stock-moved'],
    [{ kind: 'stock-moved', productId: 'p', changeType: 'IN', quantity: '1.5', stock: '1' }, 'stock-moved'],
    [{ kind: 'low-stock', productId: 'p' }, 'low-stock'],
    [{ kind: 'out-of-stock' }, 'out-of-stock'],
  ] as const) {
    assert.deepEqual(sentence(entry('x', attributes), words.en, 'en-GB'), { kind, productId: null, text: null });
  }
});
