/** Entries of the journal: their order, their days, and their words. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inDays, meets, merged, type Entry } from '../../src/lately/entries.ts';
import { sentence } from '../../src/lately/sentence.ts';
import { words } from '../../src/lately/words.ts';

const entry = (id: string, attributes: Record<string, string> = {}, atMs = 0): Entry => ({
  id,
  atMs,
  message: `message ${id}`,
  attributes,
});
const ids = (entries: readonly Entry[]): string => entries.map(({ id }) => id).join('');

test('newer and older pages come together, each entry once, newest first', () => {
  assert.equal(ids(merged([entry('c'), entry('a')], [entry('d'), entry('c')])), 'dca');
  assert.equal(ids(merged([], [entry('b'), entry('a')])), 'ba');
});

test('an entry that is told late fills its place', () => {
  assert.equal(ids(merged([entry('d'), entry('b'), entry('a')], [entry('d'), entry('c'), entry('b')])), 'dcba');
});

test('a newest page that does not reach what is known leaves a gap', () => {
  const known = [entry('c'), entry('b')];
  assert.ok(meets(known, [entry('d'), entry('c')], false));
  assert.ok(!meets(known, [entry('f'), entry('e')], false));
  assert.ok(meets(known, [entry('f'), entry('e')], true), 'there is nothing below it');
  assert.ok(!meets(known, [], false), 'a short page says nothing');
  assert.ok(meets([], [], false));
});

test('entries stand in the reader’s days', () => {
  const day = (epochMs: number): string => (epochMs < 100 ? 'old' : 'new');
  const days = inDays([entry('c', {}, 101), entry('b', {}, 100), entry('a', {}, 99)], day);
  assert.deepEqual(
    days.map(({ day, entries }) => [day, ids(entries)]),
    [
      ['new', 'cb'],
      ['old', 'a'],
    ],
  );
  assert.deepEqual(inDays([], day), []);
});

/** How the entry is told in both languages. */
function told(attributes: Record<string, string>): string[] {
  return (['en', 'ja'] as const).map((language) => {
    const { productId, text } = sentence(
      entry('x', attributes),
      words[language],
      language === 'en' ? 'en-GB' : 'ja-JP',
    );
    return `${productId ?? ''}${text}`;
  });
}

test('each kind is told in both languages', () => {
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
  ].map(told);
  assert.deepEqual(lines, [
    [
      'A game of 3 players over 1 round has ended. The best score was 1,270.',
      '3人のゲーム(1ラウンド)が終わりました。最高得点は1,270点。',
    ],
    ['p costs JP¥1,500 now, it was JP¥2,000 (−25%).', 'pの価格が ￥2,000 から ￥1,500 になりました(−25%)。'],
    ['p is for sale at €15.00.', 'pの販売が €15.00 で始まりました。'],
    ['p costs €15.00 now, it was €0.00.', 'pの価格が €0.00 から €15.00 になりました。'],
    ['p: 3 went out, 7 in stock.', 'pが3点出庫されました。在庫は7点。'],
    ['p: counted, 6 in stock (−1).', 'pの棚卸をしました(−1)。在庫は6点。'],
    ['p runs low: 2 left, low from 3.', 'pが残り2点になりました(基準3点)。'],
    ['p is out of stock.', 'pが在庫切れになりました。'],
    [
      'A record of clicks could not be counted and waits for an operator (click-count).',
      '集計できないクリックの記録があり、運用者の対応を待っています(click-count)。',
    ],
    [
      'A record of clicks that had waited for an operator is counted now.',
      '運用者の対応を待っていたクリックの記録が集計されました。',
    ],
    [
      'An operator has compared the statistics with the clicks and set them right.',
      '運用者が統計をクリックと照合し、正しい値に直しました。',
    ],
  ]);
});

test('a kind that nobody knows, and facts that are missing or no numbers, keep the entry’s own message', () => {
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
