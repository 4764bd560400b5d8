/** The texts that all pages share: header, notices, token forms. */
import type { Dictionary } from './i18n.svelte.ts';

const en = {
  skip: 'Skip to content',
  pages: 'Pages',
  otherLanguage: '日本語',
  toDark: 'Dark theme',
  toLight: 'Light theme',
  retry: 'Try again',
  noAnswer: 'The server is not responding',
  noAnswerDetail: 'Check your network connection, or wait a moment if the server is starting.',
  keepsTrying: 'This page keeps trying automatically.',
  offline: 'You are offline',
  loading: 'Loading…',
  sending: 'Sending…',
  more: 'Load more',
  range: 'Date range',
  day: 'Day',
  from: 'From',
  to: 'To',
  staffToken: 'Staff token',
  operatorToken: 'Operator token',
  useToken: 'Use token',
  forgetToken: 'Forget token',
  tokenRefused: 'The token was not accepted',
  tokenRefusedDetail: 'The token was not accepted. Check for missing or extra characters.',
};

const ja: typeof en = {
  skip: '本文へ移動',
  pages: 'ページ',
  otherLanguage: 'English',
  toDark: 'ダークテーマ',
  toLight: 'ライトテーマ',
  retry: '再試行',
  noAnswer: 'サーバーから応答がありません',
  noAnswerDetail: 'ネットワーク接続を確認するか、サーバーの起動中の場合はしばらくお待ちください。',
  keepsTrying: '自動で再試行します。',
  offline: 'オフラインです',
  loading: '読み込み中…',
  sending: '送信中…',
  more: 'さらに表示',
  range: '期間',
  day: '日付',
  from: '開始日',
  to: '終了日',
  staffToken: 'スタッフ用トークン',
  operatorToken: '運用者用トークン',
  useToken: 'トークンを使う',
  forgetToken: 'トークンを破棄',
  tokenRefused: 'トークンが正しくありません',
  tokenRefusedDetail: 'トークンが正しくありません。文字の抜けや余分な文字がないか確認してください。',
};

/** Both languages. */
export const words: Dictionary<typeof en> = { en, ja };
