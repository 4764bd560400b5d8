/**
 * The texts of the recent events page. Numbers, money and times are passed in already formatted.
 */
import type { ProblemWords } from '../shared/failure.ts';
import type { Dictionary } from '../shared/i18n.svelte.ts';

const problemsEn = {
  'expired-cursor': 'This list has been open for too long. Reload the page to see older events.',
  busy: 'The database is busy. Try again in a moment.',
} satisfies ProblemWords;

const problemsJa: typeof problemsEn = {
  'expired-cursor': '長時間開いていたため、以前のできごとを読み込めません。ページを再読み込みしてください。',
  busy: 'データベースが混み合っています。しばらくしてからもう一度お試しください。',
};

const en = {
  title: 'Recent events · Tidemark',
  heading: 'Recent events',
  lead: 'Finished games, price changes, products out of stock and more, newest first. New events appear automatically.',
  footer: 'Dates and times are in your device’s time zone.',
  today: (day: string) => `Today, ${day}`,
  yesterday: (day: string) => `Yesterday, ${day}`,
  fresh: (n: number, count: string) => (n === 1 ? '1 new event' : `${count} new events`),
  older: 'Load older events',
  end: 'There are no older events.',
  empty: 'No events yet',
  emptyLead: 'Finish a game or change a price, and it appears here.',
  toGame: 'Play a game',
  toShop: 'Go to the shop',
  failed: 'Could not load the events',
  olderFailed: 'Could not load older events',
  offlineDetail: 'You see the events that were loaded last.',

  kinds: {
    'game-finished': 'Game',
    'price-changed': 'Price',
    'stock-moved': 'Stock',
    'low-stock': 'Low stock',
    'out-of-stock': 'Out of stock',
    'record-quarantined': 'Statistics',
    'record-settled': 'Statistics',
    'statistics-repaired': 'Statistics',
    other: 'Event',
  },
  gameFinished: (players: number, rounds: number, bestScore: string) =>
    `A game with ${players} ${players === 1 ? 'player' : 'players'} ended after ${rounds} ${rounds === 1 ? 'round' : 'rounds'}. The best score was ${bestScore}.`,
  firstPrice: (price: string) => ` is now for sale at ${price}.`,
  priceChanged: (price: string, previous: string, share: string) =>
    ` changed in price from ${previous} to ${price}${share === '' ? '' : ` (${share})`}.`,
  stockMoved: {
    IN: (quantity: string, stock: string) => `: received ${quantity}, now ${stock} in stock.`,
    OUT: (quantity: string, stock: string) => `: removed ${quantity}, now ${stock} in stock.`,
    ADJUST: (quantity: string, stock: string) => `: adjusted by ${quantity}, now ${stock} in stock.`,
    COUNT: (quantity: string, stock: string) => `: counted, now ${stock} in stock (${quantity}).`,
  },
  lowStock: (stock: string, threshold: string) => ` is low in stock: ${stock} left (low-stock level: ${threshold}).`,
  outOfStock: ' is out of stock.',
  recordQuarantined: (reason: string) =>
    `A click record could not be counted and is in quarantine until an operator reviews it (${reason}).`,
  recordSettled: {
    counted: 'A click record from quarantine has been counted.',
    gone: 'A click record was removed from quarantine because its click no longer exists.',
    dismissed: 'An operator reviewed a click record in quarantine and decided not to count it.',
    duplicate: 'A click record was removed from quarantine because its click had already been counted.',
  },
  statisticsRepaired: 'An operator compared the statistics with the stored clicks and corrected them.',

  problems: problemsEn,
};

const ja: typeof en = {
  title: '最近のできごと · Tidemark',
  heading: '最近のできごと',
  lead: 'ゲームの終了、価格の変更、在庫切れなどを新しい順に表示します。新しいできごとは自動で追加されます。',
  footer: '日時はお使いの端末のタイムゾーンで表示しています。',
  today: (day) => `今日 ${day}`,
  yesterday: (day) => `昨日 ${day}`,
  fresh: (_, count) => `新着${count}件`,
  older: '以前のできごとを読み込む',
  end: 'これより前のできごとはありません。',
  empty: 'できごとはまだありません',
  emptyLead: 'ゲームを最後まで遊ぶか、商品の価格を変更すると、ここに表示されます。',
  toGame: 'ゲームで遊ぶ',
  toShop: '商品を見る',
  failed: 'できごとを読み込めません',
  olderFailed: '以前のできごとを読み込めません',
  offlineDetail: '最後に読み込んだできごとを表示しています。',

  kinds: {
    'game-finished': 'ゲーム',
    'price-changed': '価格',
    'stock-moved': '在庫',
    'low-stock': '残りわずか',
    'out-of-stock': '在庫切れ',
    'record-quarantined': '集計',
    'record-settled': '集計',
    'statistics-repaired': '集計',
    other: 'できごと',
  },
  gameFinished: (players, rounds, bestScore) =>
    `${players}人のゲーム(${rounds}ラウンド)が終了しました。最高得点は${bestScore}点です。`,
  firstPrice: (price) => `の販売を ${price} で開始しました。`,
  priceChanged: (price, previous, share) =>
    `の価格が ${previous} から ${price} になりました${share === '' ? '' : `(${share})`}。`,
  stockMoved: {
    IN: (quantity, stock) => `が${quantity}点入庫しました。在庫は${stock}点です。`,
    OUT: (quantity, stock) => `が${quantity}点出庫しました。在庫は${stock}点です。`,
    ADJUST: (quantity, stock) => `の在庫を調整しました(${quantity})。在庫は${stock}点です。`,
    COUNT: (quantity, stock) => `の棚卸をしました(${quantity})。在庫は${stock}点です。`,
  },
  lowStock: (stock, threshold) => `の在庫が残り${stock}点になりました(残りわずかの基準:${threshold}点)。`,
  outOfStock: 'が在庫切れになりました。',
  recordQuarantined: (reason) =>
    `クリックの記録を1件集計できなかったため、隔離しました。運用者の確認待ちです(${reason})。`,
  recordSettled: {
    counted: '隔離されていたクリックの記録を集計しました。',
    gone: '隔離されていたクリックの記録を取り除きました。元のクリックが残っていないためです。',
    dismissed: '運用者が隔離中のクリックの記録を確認し、集計しないことにしました。',
    duplicate: '隔離されていたクリックの記録を取り除きました。すでに集計されていたためです。',
  },
  statisticsRepaired: '運用者が統計を保存済みのクリックと照合し、修正しました。',

  problems: problemsJa,
};

/** Both languages. */
export const words: Dictionary<typeof en> = { en, ja };
/** The texts in one language. */
export type Words = typeof en;
