/** The texts of the clicks page. Numbers are passed in already formatted. */
import type { Dictionary } from '../shared/i18n.svelte.ts';

const en = {
  title: 'Clicks · Tidemark',
  heading: 'Clicks, counted exactly once',
  lead: 'Each press is stored once. The totals are updated together with a checkpoint, so that a retry never counts a click twice.',
  footer: 'All days are in UTC. A new day begins at 00:00 UTC.',

  click: 'Click',
  today: 'Today',
  todayUtc: (day: string) => `${day}, UTC`,
  clicks: 'clicks',
  visitors: 'visitors',
  highest: (count: string, day: string) => `Highest: ${count} · ${day}`,
  highestNow: 'Highest: today',
  noClicksToday: 'No clicks yet today.',
  marksNote: 'Long line: the highest day of the range below. Short marks: the last 7 days with clicks.',
  counting: (count: string) => `Stored, counting… ${count}`,
  sending: (count: string) => `Sending… ${count}`,
  retrying: (count: string) => `Sending failed, retrying… ${count}`,
  waitingOffline: (count: string) => `Offline, waiting to send: ${count}`,
  counted: 'Counted',
  ready: 'Ready: press the button',
  announceCounted: (count: string, today: string) => `${count} counted. Today: ${today}.`,
  outboxFull: 'Too many clicks are waiting to be sent. Wait until they are sent, then click again.',

  late: (count: string) => `Not sent yet: ${count}`,
  lateDetail:
    'This browser keeps them, even if you close the page. A click that has already reached the server is not counted twice.',
  refused: (count: string) => `Rejected: ${count}`,
  dismiss: 'Dismiss',

  visitorName: 'Your visitor name',
  visitorHint:
    'Unique visitors are counted by this name. It is sent with each click, and the operators of this server can read it.',
  save: 'Save',
  saved: 'Saved.',
  nameFaults: {
    empty: 'Enter at least one character.',
    tooLong: 'Enter at most 128 characters.',
    hash: 'The name cannot contain “#”.',
    control: 'The name cannot contain control characters.',
  },

  thisMonth: 'This month',
  allTime: 'All time',
  statsFailed: 'Could not load the live figures',
  offlineDetail: 'You see the figures that were loaded last. Clicks are saved and sent when you are online again.',

  history: 'Clicks by day and month',
  lastDays: (days: string) => `${days} days`,
  rangeFaults: {
    incomplete: 'Choose both dates.',
    reversed: 'The “From” date must not be after the “To” date.',
    tooLong: 'Choose a range of at most 400 days.',
  },
  csv: 'Download CSV',
  csvFailed: 'Could not create the CSV file',
  byDay: 'By day',
  byMonth: 'By month',
  uniqueVisitors: 'unique visitors',
  chartLabel: (what: string, from: string, to: string) =>
    `Chart: ${what}, ${from} to ${to}. The table below lists the numbers of each day.`,
  noClicksInRange: 'No clicks in this date range.',
  seriesFailed: 'Could not load the daily figures',

  latestDays: 'Latest days',
  day: 'Day',
  tableClicks: 'Clicks',
  tableVisitors: 'Unique visitors',
  showAll: (count: string) => `Show all ${count} days`,
  showFewer: 'Show fewer',

  whoClicked: 'Who clicked',
  whoClickedLead:
    'Single clicks are personal data. To see them, enter the operator token. It is kept until you close this tab.',
  ofDay: 'Search by day',
  ofVisitor: 'Search by visitor',
  visitor: 'Visitor',
  show: 'Show',
  time: 'Time (UTC)',
  unreadableCount: '?',
  skipped: (count: string) =>
    `Not shown because they could not be read: ${count}. Their keys are in the log of the function.`,
  noneFound: 'No clicks found.',
  listFailed: 'Could not load the clicks',
};

const ja: typeof en = {
  title: 'クリック · Tidemark',
  heading: 'クリックの正確な集計',
  lead: '1回押すと、クリックが1件保存されます。合計はチェックポイントと同時に更新されるため、再試行しても二重に数えられません。',
  footer: '日付はすべて UTC です。00:00 UTC に日付が変わります。',

  click: 'クリック',
  today: '今日',
  todayUtc: (day) => `${day} UTC`,
  clicks: 'クリック',
  visitors: '訪問者',
  highest: (count, day) => `最多 ${count}回 · ${day}`,
  highestNow: '最多:今日',
  noClicksToday: '今日のクリックはまだありません。',
  marksNote: '長い線は下の期間でクリックが最も多い日、短い線はクリックがあった直近7日分です。',
  counting: (count) => `保存済み、集計中… ${count}`,
  sending: (count) => `送信中… ${count}`,
  retrying: (count) => `送信できません。再試行中… ${count}`,
  waitingOffline: (count) => `オフラインのため送信待ち:${count}件`,
  counted: '集計されました',
  ready: 'ボタンを押してください',
  announceCounted: (count, today) => `${count}件が集計されました。今日は${today}件です。`,
  outboxFull: '送信待ちのクリックが多すぎます。送信が終わってから、もう一度クリックしてください。',

  late: (count) => `未送信:${count}件`,
  lateDetail: 'ページを閉じてもこのブラウザーに保存されます。すでに届いたクリックが二重に数えられることはありません。',
  refused: (count) => `受け付けられませんでした:${count}件`,
  dismiss: '閉じる',

  visitorName: 'あなたの訪問者名',
  visitorHint:
    'ユニーク訪問者はこの名前で数えます。名前はクリックと一緒に送信され、このサーバーの運用者が閲覧できます。',
  save: '保存',
  saved: '保存しました。',
  nameFaults: {
    empty: '1文字以上入力してください。',
    tooLong: '128文字以内で入力してください。',
    hash: '「#」は使用できません。',
    control: '制御文字は使用できません。',
  },

  thisMonth: '今月',
  allTime: '累計',
  statsFailed: '最新の数値を読み込めません',
  offlineDetail: '最後に読み込んだ数値を表示しています。クリックは保存され、オンラインに戻ると送信されます。',

  history: '日別・月別のクリック',
  lastDays: (days) => `${days}日間`,
  rangeFaults: {
    incomplete: '開始日と終了日を選択してください。',
    reversed: '開始日は終了日以前の日付にしてください。',
    tooLong: '期間は400日以内にしてください。',
  },
  csv: 'CSV をダウンロード',
  csvFailed: 'CSV を作成できませんでした',
  byDay: '日別',
  byMonth: '月別',
  uniqueVisitors: 'ユニーク訪問者',
  chartLabel: (what, from, to) => `グラフ:${what}、${from}から${to}まで。日別の数値は下の表にあります。`,
  noClicksInRange: 'この期間のクリックはありません。',
  seriesFailed: '日別の数値を読み込めません',

  latestDays: '最近の日別クリック',
  day: '日付',
  tableClicks: 'クリック',
  tableVisitors: 'ユニーク訪問者',
  showAll: (count) => `${count}日分をすべて表示`,
  showFewer: '一部だけ表示',

  whoClicked: '誰がクリックしたか',
  whoClickedLead:
    '個々のクリックは個人に関わる情報です。閲覧するには運用者用トークンを入力してください。トークンはこのタブを閉じるまで保持されます。',
  ofDay: '日付で検索',
  ofVisitor: '訪問者で検索',
  visitor: '訪問者',
  show: '表示',
  time: '時刻(UTC)',
  unreadableCount: '?',
  skipped: (count) => `読み取れなかったため表示していない記録:${count}件。キーは関数のログで確認できます。`,
  noneFound: 'クリックは見つかりませんでした。',
  listFailed: 'クリックを読み込めません',
};

/** Both languages. */
export const words: Dictionary<typeof en> = { en, ja };
/** The texts in one language. */
export type Words = typeof en;
