/** The words of the start page. Numbers, money and days arrive already formatted. */
import type { Dictionary } from '../shared/i18n.svelte.ts';

const en = {
  title: 'Tidemark',
  heading: 'Come in, the tide is right',
  lead: 'Press the buoy, draw for your friends, look into the shop, take your medicine, read what happened. No server waits behind it, and still every click is counted exactly once.',
  footer: 'Nothing on this page needs an account.',
  unread: 'Cannot be read right now. The page behind it may still work.',

  today: 'Clicks today',
  visitors: (count: string) => `from ${count} unique visitors`,
  visitor: 'from one visitor',
  nobody: 'Slack water: nobody has clicked yet.',
  toBuoy: 'To the buoy',
  highWater: (count: string, day: string) => `High water ${count} · ${day}`,
  tideLabel: (from: string, to: string, highest: string) =>
    `The clicks of each day from ${from} to ${to} as a water line; the highest day has ${highest}.`,

  game: 'Draw & guess',
  gamesWait: (n: number, count: string) => (n === 1 ? '1 game waits for players' : `${count} games wait for players`),
  gameOf: (host: string) => `${host} is at the table`,
  noGames: 'The paper is blank',
  noGamesLead: 'Start a game and send the link: ten can play, in Japanese or English.',
  draw: 'Draw',

  shop: 'Shop',
  lowest: (price: string) => `Lowest of 30 days: ${price}`,
  left: (count: string) => `${count} to be had`,
  soldOut: 'Sold out',
  noProducts: 'The shelves are empty',
  noProductsLead: 'The README says how to fill them with examples.',
  look: 'Look closer',

  okusuri: 'Okusuri',
  okusuriLead: 'One tap a day, also without a network. In the evening it asks, once.',
  log: 'Log today',

  lately: 'Lately',
  noNews: 'Nothing has happened yet',
  noNewsLead: 'Play a game to its end, or change a price, and it stands here a moment later.',
  read: 'Read on',
};

const ja: typeof en = {
  title: 'Tidemark',
  heading: 'ようこそ、潮はちょうど満ちています',
  lead: 'ブイを押す。友だちと絵を当てる。商品をのぞく。今日の薬を記録する。最近のできごとを読む。どれもサーバーを置かずに動き、クリックは必ず一度だけ数えられます。',
  footer: 'このページにアカウントは要りません。',
  unread: '今は読み込めません。リンク先は使えるかもしれません。',

  today: '今日のクリック',
  visitors: (count) => `訪問者${count}人`,
  visitor: '訪問者1人',
  nobody: '今日はまだ誰もクリックしていません。',
  toBuoy: 'ブイを押しに行く',
  highWater: (count, day) => `最高潮位 ${count} · ${day}`,
  tideLabel: (from, to, highest) =>
    `${from}から${to}までの日別クリック数を水面の高さで表した図。最も多い日は${highest}。`,

  game: 'お絵かき当て',
  gamesWait: (_, count) => `${count}件のゲームが参加者を待っています`,
  gameOf: (host) => `${host}さんが待っています`,
  noGames: '紙はまだ真っ白です',
  noGamesLead: 'ゲームを作ってリンクを送りましょう。日本語でも英語でも、十人まで遊べます。',
  draw: '描きに行く',

  shop: '商品',
  lowest: (price) => `30日間の最安値 ${price}`,
  left: (count) => `残り${count}点`,
  soldOut: '売り切れ',
  noProducts: '棚は空です',
  noProductsLead: '見本の入れ方は README にあります。',
  look: '詳しく見る',

  okusuri: 'おくすり',
  okusuriLead: '一日一回のタップで記録。オフラインでも使え、夜に一度だけお知らせします。',
  log: '今日を記録する',

  lately: '近況',
  noNews: 'まだ何も起きていません',
  noNewsLead: 'ゲームを最後まで遊ぶか、価格を変えると、すぐここに載ります。',
  read: '続きを読む',
};

/** Both languages. */
export const words: Dictionary<typeof en> = { en, ja };
