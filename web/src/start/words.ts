/** The texts of the start page. Numbers, money and days are passed in already formatted. */
import type { Dictionary } from '../shared/i18n.svelte.ts';

const en = {
  title: 'Tidemark',
  heading: 'Five apps on AWS Lambda and DynamoDB',
  lead: 'Count clicks, play a drawing game, track prices and stock, log your medication, and see recent events. Every click is counted exactly once.',
  footer: 'You do not need an account to view this page.',
  loadFailed: 'Could not load this right now. The linked page may still work.',
  stale: 'Not up to date: the server is not responding.',

  today: 'Clicks today',
  visitors: (count: string) => `from ${count} unique visitors`,
  visitor: 'from 1 unique visitor',
  noClicks: 'No clicks yet today.',
  toClicks: 'Go to clicks',
  highest: (count: string, day: string) => `Highest: ${count} · ${day}`,
  chartLabel: (from: string, to: string, highest: string) =>
    `Chart of the clicks per day from ${from} to ${to}. The highest day has ${highest} clicks.`,

  game: 'Draw & guess',
  gamesWait: (n: number, count: string) =>
    n === 1 ? '1 game is waiting for players' : `${count} games are waiting for players`,
  gameOf: (host: string) => `Hosted by ${host}`,
  noGames: 'No open games',
  noGamesLead: 'Start a game and share the link. Up to 10 people can play, with words in six languages.',
  play: 'Play',
  playWithBots: 'Play with bots now',

  shop: 'Shop',
  lowest: (price: string) => `Lowest in 30 days: ${price}`,
  left: (count: string) => `${count} available`,
  soldOut: 'Sold out',
  noProducts: 'No products yet',
  noProductsLead: 'The README explains how to import the example products.',
  viewProduct: 'View product',
  toShop: 'Go to shop',

  okusuri: 'Okusuri medication log',
  okusuriLead: 'Log your medication with one tap a day, even offline, and get a daily reminder.',
  log: 'Log today',

  lately: 'Recent events',
  noEvents: 'No events yet',
  noEventsLead: 'Finish a game or change a price, and it appears here.',
  allEvents: 'See all events',

  demo: 'Fill this stack with a demo',
  demoLead:
    'A year of clicks, a finished game with drawings, products with their histories, a month of the medication log, and a record in quarantine. It takes about half a minute.',
  demoAdd: 'Add the demo',
  demoRemove: 'Remove the demo',
  askDemoRemove: 'This removes what the demo has added, and nothing else. The numbers of your own clicks stay exact.',
  cancel: 'Cancel',
  demoWorking: 'Working…',
  demoStates: {
    added: 'The demo was added.',
    present: 'The demo is already there. Nothing was changed.',
    removed: 'The demo was removed.',
    absent: 'There is no demo to remove.',
  },
  demoFailed: 'The demo could not be changed',
  demoClicks: 'A year of clicks',
  demoGame: 'The finished game',
  demoShop: 'A product with its history',
  demoOkusuri: (email: string) => `The medication log: sign in as ${email}`,
  demoOperator: 'The record in quarantine',
};

const ja: typeof en = {
  title: 'Tidemark',
  heading: 'AWS Lambda と DynamoDB で動く5つのアプリ',
  lead: 'クリックの集計、お絵かき当てゲーム、商品の価格と在庫の管理、服薬の記録、最近のできごとの確認ができます。クリックは必ず1回だけ集計されます。',
  footer: 'このページの閲覧にアカウントは必要ありません。',
  stale: 'サーバーから応答がなく、最新ではありません。',
  loadFailed: '現在読み込めません。リンク先のページは利用できる場合があります。',

  today: '今日のクリック',
  visitors: (count) => `ユニーク訪問者${count}人`,
  visitor: 'ユニーク訪問者1人',
  noClicks: '今日のクリックはまだありません。',
  toClicks: 'クリックのページへ',
  highest: (count, day) => `最多 ${count}回 · ${day}`,
  chartLabel: (from, to, highest) => `${from}から${to}までの日別クリック数のグラフ。最も多い日は${highest}回です。`,

  game: 'お絵かき当て',
  gamesWait: (_, count) => `${count}件のゲームが参加者を募集中です`,
  gameOf: (host) => `${host}さんが待っています`,
  noGames: '募集中のゲームはありません',
  noGamesLead: 'ゲームを作成してリンクを共有してください。お題は6つの言語から選べて、10人まで遊べます。',
  play: 'ゲームで遊ぶ',
  playWithBots: '今すぐボットと遊ぶ',

  shop: '商品',
  lowest: (price) => `30日間の最安値 ${price}`,
  left: (count) => `残り${count}点`,
  soldOut: '売り切れ',
  noProducts: '商品はまだありません',
  noProductsLead: 'サンプル商品の取り込み方法は README をご覧ください。',
  viewProduct: '商品を見る',
  toShop: '商品のページへ',

  okusuri: 'おくすり記録',
  okusuriLead: '1日1回のタップで服薬を記録できます。オフラインでも使え、毎日お知らせが届きます。',
  log: '今日の分を記録する',

  lately: '最近のできごと',
  noEvents: 'できごとはまだありません',
  noEventsLead: 'ゲームを最後まで遊ぶか、商品の価格を変更すると、ここに表示されます。',
  allEvents: 'すべて見る',

  demo: 'このスタックにデモを追加する',
  demoLead:
    '1年分のクリック、絵のある終了したゲーム、価格と在庫の履歴がある商品、1か月分の服薬の記録、隔離された記録1件を追加します。30秒ほどかかります。',
  demoAdd: 'デモを追加する',
  demoRemove: 'デモを削除する',
  askDemoRemove: 'デモが追加したものだけを削除します。ご自身のクリックの集計は正確なままです。',
  cancel: 'キャンセル',
  demoWorking: '処理しています…',
  demoStates: {
    added: 'デモを追加しました。',
    present: 'デモはすでに追加されています。変更はありません。',
    removed: 'デモを削除しました。',
    absent: '削除するデモはありません。',
  },
  demoFailed: 'デモを変更できませんでした',
  demoClicks: '1年分のクリック',
  demoGame: '終了したゲーム',
  demoShop: '履歴のある商品',
  demoOkusuri: (email) => `服薬の記録:${email} でログイン`,
  demoOperator: '隔離された記録',
};

/** Both languages. */
export const words: Dictionary<typeof en> = { en, ja };
