/** The words of the clicks page. Numbers arrive already formatted. */
import type { Dictionary } from '../shared/i18n.svelte.ts';

const en = {
  title: 'Clicks · Tidemark',
  heading: 'Clicks, counted exactly',
  lead: 'Each press is stored once. The stream that carries it leaves a tidemark behind, and so it is counted once.',
  footer: 'All days are UTC days: a new one begins at 00:00 UTC.',

  click: 'Click',
  today: 'Today',
  todayUtc: (day: string) => `${day}, UTC`,
  clicks: 'clicks',
  visitors: 'visitors',
  highWater: (count: string, day: string) => `High water ${count} · ${day}`,
  highWaterNow: 'High water: today',
  noClicksToday: 'Slack water: nobody has clicked today. Be the first.',
  marksNote: 'The line is the highest day of those shown below; the short marks are the last seven days.',
  counting: (count: string) => `Sent, counting… ${count}`,
  sending: (count: string) => `Sending… ${count}`,
  retrying: (count: string) => `No luck yet, trying again… ${count}`,
  waitingOffline: (count: string) => `${count} waiting for the network`,
  counted: 'Counted',
  ready: 'Press the buoy to click',
  announceCounted: (count: string, today: string) => `${count} counted. Today: ${today}.`,
  outboxFull: 'Many clicks are still unsent. Wait until they are through.',

  late: (count: string) => `Not sent yet: ${count}`,
  lateDetail:
    'This browser keeps them, also when you close the page. A click that has already arrived is not counted twice.',
  refused: (count: string) => `Refused: ${count}`,
  dismiss: 'Dismiss',

  visitorName: 'Your visitor name',
  visitorHint:
    'Unique visitors are counted by this name. It is sent with each click, and those who run this server can read it.',
  save: 'Save',
  saved: 'Saved.',
  nameFaults: {
    empty: 'A name needs at least one character.',
    tooLong: 'A name has at most 128 characters.',
    hash: 'A name cannot contain “#”.',
    control: 'A name cannot contain control characters.',
  },

  thisMonth: 'This month',
  allTime: 'All time',
  statsFailed: 'The live figures cannot be read',
  offlineDetail: 'The figures are the last ones known. Clicks are kept and sent when the network is back.',

  history: 'Days and months',
  lastDays: (days: string) => `${days} days`,
  rangeFaults: {
    incomplete: 'Choose both days.',
    upsideDown: 'The first day lies after the last.',
    tooLong: 'A range has at most 400 days.',
  },
  csv: 'Download CSV',
  csvFailed: 'The CSV could not be made',
  byDay: 'By day',
  byMonth: 'By month',
  uniqueVisitors: 'unique visitors',
  chartLabel: (what: string, from: string, to: string) =>
    `Chart: ${what}, ${from} to ${to}. The table below has the numbers of the days.`,
  noClicksInRange: 'No clicks in these days yet.',
  seriesFailed: 'The days cannot be read',

  latestDays: 'Latest days',
  day: 'Day',
  tableClicks: 'Clicks',
  tableVisitors: 'Unique visitors',
  showAll: (count: string) => `Show all ${count} days`,
  showFewer: 'Show fewer',

  whoClicked: 'Who clicked',
  whoClickedLead:
    'Single clicks belong to people, so they need the operator’s token. It is kept until this tab closes.',
  ofDay: 'Clicks of a day',
  ofVisitor: 'Clicks of a visitor',
  visitor: 'Visitor',
  show: 'Show',
  time: 'Time (UTC)',
  unreadableCount: '?',
  skipped: (count: string) => `Not shown, as they cannot be read: ${count}. The function’s log has their keys.`,
  noneFound: 'No clicks found.',
  listFailed: 'The clicks cannot be read',
};

const ja: typeof en = {
  title: 'クリック · Tidemark',
  heading: '正確に数えるクリック',
  lead: '一回押すと一度だけ保存されます。運ぶ流れが潮位線を残すので、必ず一度だけ数えられます。',
  footer: '日付はすべて UTC です。00:00 UTC に日付が変わります。',

  click: 'クリック',
  today: '今日',
  todayUtc: (day) => `${day} UTC`,
  clicks: 'クリック',
  visitors: '訪問者',
  highWater: (count, day) => `最高潮位 ${count} · ${day}`,
  highWaterNow: '最高潮位:今日',
  noClicksToday: '今日はまだ誰もクリックしていません。最初の一回をどうぞ。',
  marksNote: '線は下に表示した期間で最も多い日、短い印は直近の七日間です。',
  counting: (count) => `送信済み、集計中… ${count}`,
  sending: (count) => `送信中… ${count}`,
  retrying: (count) => `送信できません。再試行中… ${count}`,
  waitingOffline: (count) => `${count}件が接続を待っています`,
  counted: '集計されました',
  ready: 'ブイを押してクリック',
  announceCounted: (count, today) => `${count}件が集計されました。今日は${today}件です。`,
  outboxFull: '未送信のクリックが多すぎます。送信が終わるまでお待ちください。',

  late: (count) => `未送信:${count}件`,
  lateDetail: 'ページを閉じてもこのブラウザーに保管されます。すでに届いたクリックが二重に数えられることはありません。',
  refused: (count) => `受け付けられませんでした:${count}件`,
  dismiss: '閉じる',

  visitorName: 'あなたの訪問者名',
  visitorHint:
    'ユニーク訪問者はこの名前で数えます。名前はクリックと一緒に送られ、このサーバーの管理者は読むことができます。',
  save: '保存',
  saved: '保存しました。',
  nameFaults: {
    empty: '一文字以上入力してください。',
    tooLong: '128文字以内で入力してください。',
    hash: '「#」は使えません。',
    control: '制御文字は使えません。',
  },

  thisMonth: '今月',
  allTime: '累計',
  statsFailed: '最新の数値を読み込めません',
  offlineDetail: '表示は最後に読み込めた数値です。クリックは保管され、接続が戻ると送信されます。',

  history: '日別と月別',
  lastDays: (days) => `${days}日間`,
  rangeFaults: {
    incomplete: '両方の日付を選んでください。',
    upsideDown: '開始日が終了日より後になっています。',
    tooLong: '期間は400日以内にしてください。',
  },
  csv: 'CSV をダウンロード',
  csvFailed: 'CSV を作成できませんでした',
  byDay: '日別',
  byMonth: '月別',
  uniqueVisitors: 'ユニーク訪問者',
  chartLabel: (what, from, to) => `グラフ:${what}、${from}から${to}まで。日別の数値は下の表にあります。`,
  noClicksInRange: 'この期間のクリックはまだありません。',
  seriesFailed: '日別の数値を読み込めません',

  latestDays: '最近の日',
  day: '日付',
  tableClicks: 'クリック',
  tableVisitors: 'ユニーク訪問者',
  showAll: (count) => `${count}日分をすべて表示`,
  showFewer: '表示を減らす',

  whoClicked: '誰がクリックしたか',
  whoClickedLead:
    '個々のクリックは人に関わる情報なので、運用者のトークンが必要です。トークンはこのタブを閉じるまで保持されます。',
  ofDay: 'ある日のクリック',
  ofVisitor: 'ある訪問者のクリック',
  visitor: '訪問者',
  show: '表示',
  time: '時刻(UTC)',
  unreadableCount: '?',
  skipped: (count) => `読み取れないため表示していない行:${count}件。キーは関数のログにあります。`,
  noneFound: 'クリックは見つかりませんでした。',
  listFailed: 'クリックを読み込めません',
};

/** Both languages. */
export const words: Dictionary<typeof en> = { en, ja };
/** The words in one language. */
export type Words = typeof en;
