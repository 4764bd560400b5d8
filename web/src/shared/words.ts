/** The words of what all pages share: header, notices. */
import type { Dictionary } from './i18n.svelte.ts';

const en = {
  skip: 'Skip to the content',
  pages: 'Pages',
  otherLanguage: '日本語',
  toDark: 'Dark theme',
  toLight: 'Light theme',
  retry: 'Try again',
  noAnswer: 'No answer from the server',
  noAnswerDetail: 'It may be starting, or the network is down.',
  keepsTrying: 'This page keeps trying.',
  offline: 'You are offline',
  loading: 'Loading…',
  sending: 'Sending…',
  more: 'More',
  range: 'Range',
  from: 'From',
  to: 'To',
  staffToken: 'Staff token',
  operatorToken: 'Operator token',
  useToken: 'Use',
  forgetToken: 'Forget the token',
  tokenRefused: 'The token was not accepted',
  tokenRefusedDetail: 'The token was not accepted. Look for a missing or an extra character.',
};

const ja: typeof en = {
  skip: '本文へ移動',
  pages: 'ページ',
  otherLanguage: 'English',
  toDark: 'ダークテーマ',
  toLight: 'ライトテーマ',
  retry: '再試行',
  noAnswer: 'サーバーから応答がありません',
  noAnswerDetail: '起動中か、ネットワークが切れている可能性があります。',
  keepsTrying: '自動で再試行します。',
  offline: 'オフラインです',
  loading: '読み込み中…',
  sending: '送信中…',
  more: '続きを表示',
  range: '期間',
  from: '開始日',
  to: '終了日',
  staffToken: 'スタッフ用トークン',
  operatorToken: '運用者トークン',
  useToken: '使う',
  forgetToken: 'トークンを破棄',
  tokenRefused: 'トークンが受け付けられませんでした',
  tokenRefusedDetail: 'トークンが受け付けられませんでした。文字の抜けや余分がないか確かめてください。',
};

/** Both languages. */
export const words: Dictionary<typeof en> = { en, ja };
