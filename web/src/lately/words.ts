/** The words of the page of what happened lately. Numbers, money and times arrive already formatted. */
import type { ProblemWords } from '../shared/failure.ts';
import type { Dictionary } from '../shared/i18n.svelte.ts';

const problemsEn = {
  'expired-cursor': 'You have been reading for long, and the way down has closed. Load the page again to go on.',
  busy: 'The database is busy. Try again in a moment.',
} satisfies ProblemWords;

const problemsJa: typeof problemsEn = {
  'expired-cursor': '長く開いていたため、続きを読み込めません。ページを読み込み直してください。',
  busy: 'データベースが混み合っています。少し待ってからお試しください。',
};

const en = {
  title: 'Lately · Tidemark',
  heading: 'What happened lately',
  lead: 'Games that ended, prices that changed, goods that ran out: the newest comes first, and new ones come by themselves.',
  footer: 'Days and times are those of your device.',
  today: (day: string) => `Today, ${day}`,
  yesterday: (day: string) => `Yesterday, ${day}`,
  fresh: (n: number, count: string) => (n === 1 ? '1 new entry' : `${count} new entries`),
  older: 'Older entries',
  end: 'The journal begins here.',
  empty: 'Nothing has happened yet.',
  emptyLead: 'Play a game to its end, or change a price, and it stands here a moment later.',
  toGame: 'Play a game',
  toShop: 'Go to the shop',
  failed: 'The journal cannot be read',
  olderFailed: 'Older entries cannot be read',
  offlineDetail: 'What you see is what was known last.',

  kinds: {
    'game-finished': 'Game',
    'price-changed': 'Price',
    'stock-moved': 'Stock',
    'low-stock': 'Low stock',
    'out-of-stock': 'Out of stock',
    'record-quarantined': 'Statistics',
    'record-settled': 'Statistics',
    'statistics-repaired': 'Statistics',
    other: 'Entry',
  },
  gameFinished: (players: number, rounds: number, bestScore: string) =>
    `A game of ${players} ${players === 1 ? 'player' : 'players'} over ${rounds} ${rounds === 1 ? 'round' : 'rounds'} has ended. The best score was ${bestScore}.`,
  firstPrice: (price: string) => ` is for sale at ${price}.`,
  priceChanged: (price: string, previous: string, share: string) =>
    ` costs ${price} now, it was ${previous}${share === '' ? '' : ` (${share})`}.`,
  stockMoved: {
    IN: (quantity: string, stock: string) => `: ${quantity} came in, ${stock} in stock.`,
    OUT: (quantity: string, stock: string) => `: ${quantity} went out, ${stock} in stock.`,
    ADJUST: (quantity: string, stock: string) => `: corrected by ${quantity}, ${stock} in stock.`,
    COUNT: (quantity: string, stock: string) => `: counted, ${stock} in stock (${quantity}).`,
  },
  lowStock: (stock: string, threshold: string) => ` runs low: ${stock} left, low from ${threshold}.`,
  outOfStock: ' is out of stock.',
  recordQuarantined: (reason: string) =>
    `A record of clicks could not be counted and waits for an operator (${reason}).`,
  recordSettled: {
    counted: 'A record of clicks that had waited for an operator is counted now.',
    gone: 'A record of clicks that had waited for an operator is settled: its click no longer exists.',
    dismissed: 'An operator has looked at a record of clicks and does not count it.',
    duplicate: 'A record of clicks that had waited for an operator is settled: its click was counted already.',
  },
  statisticsRepaired: 'An operator has compared the statistics with the clicks and set them right.',

  problems: problemsEn,
};

const ja: typeof en = {
  title: '近況 · Tidemark',
  heading: '最近のできごと',
  lead: '終わったゲーム、変わった価格、品切れになった商品。新しい順に並び、新しいできごとは自動で加わります。',
  footer: '日付と時刻はこの端末のものです。',
  today: (day) => `今日 ${day}`,
  yesterday: (day) => `昨日 ${day}`,
  fresh: (_, count) => `新着${count}件`,
  older: '以前のできごと',
  end: '記録はここから始まります。',
  empty: 'まだ何も起きていません。',
  emptyLead: 'ゲームを最後まで遊ぶか、価格を変えると、すぐここに載ります。',
  toGame: 'ゲームで遊ぶ',
  toShop: '商品を見る',
  failed: 'できごとを読み込めません',
  olderFailed: '以前のできごとを読み込めません',
  offlineDetail: '表示は最後に読み込めた内容です。',

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
    `${players}人のゲーム(${rounds}ラウンド)が終わりました。最高得点は${bestScore}点。`,
  firstPrice: (price) => `の販売が ${price} で始まりました。`,
  priceChanged: (price, previous, share) =>
    `の価格が ${previous} から ${price} になりました${share === '' ? '' : `(${share})`}。`,
  stockMoved: {
    IN: (quantity, stock) => `が${quantity}点入庫しました。在庫は${stock}点。`,
    OUT: (quantity, stock) => `が${quantity}点出庫されました。在庫は${stock}点。`,
    ADJUST: (quantity, stock) => `の在庫を調整しました(${quantity})。在庫は${stock}点。`,
    COUNT: (quantity, stock) => `の棚卸をしました(${quantity})。在庫は${stock}点。`,
  },
  lowStock: (stock, threshold) => `が残り${stock}点になりました(基準${threshold}点)。`,
  outOfStock: 'が在庫切れになりました。',
  recordQuarantined: (reason) => `集計できないクリックの記録があり、運用者の対応を待っています(${reason})。`,
  recordSettled: {
    counted: '運用者の対応を待っていたクリックの記録が集計されました。',
    gone: '運用者の対応を待っていたクリックの記録は、クリックが残っていないため処理済みになりました。',
    dismissed: '運用者がクリックの記録を確認し、集計しないことにしました。',
    duplicate: '運用者の対応を待っていたクリックの記録は、すでに集計済みのため処理済みになりました。',
  },
  statisticsRepaired: '運用者が統計をクリックと照合し、正しい値に直しました。',

  problems: problemsJa,
};

/** Both languages. */
export const words: Dictionary<typeof en> = { en, ja };
/** The words in one language. */
export type Words = typeof en;
