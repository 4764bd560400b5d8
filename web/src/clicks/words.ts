/** The texts of the clicks page. Numbers are passed in already formatted. */
import type { Dictionary } from '../shared/i18n.svelte.ts';

const en = {
  title: 'Clicks · Tidemark',
  heading: 'Clicks, counted exactly once',
  lead: 'Each press is stored once. The totals are updated together with a checkpoint, so that a retry never counts a click twice.',
  footer: 'All days are in UTC. A new day begins at 00:00 UTC.',

  click: 'Click',
  today: 'Today',
  dayUtc: (day: string) => `${day}, UTC`,
  clicks: 'clicks',
  visitors: 'visitors',
  highest: (count: string, day: string) => `Highest: ${count} · ${day}`,
  highestNow: 'Highest: today',
  noClicksToday: 'No clicks yet today.',
  marksNote: 'Long line: the highest of the last 30 days. Short marks: the last 7 days with clicks.',
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
  target: 'Target',
  targetHint: 'What your clicks count for, such as a button or a page. Everyone sees it in “Top targets”.',
  targetFaults: {
    empty: 'Enter at least one character.',
    tooLong: 'Enter at most 100 characters.',
    control: 'The target cannot contain control characters.',
  },

  save: 'Save',
  saveField: (field: string) => `Save: ${field}`,
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

  history: 'Clicks over time',
  unit: 'Unit of time',
  units: {
    hour: { name: 'Hours', heading: 'By hour', period: 'Hour (UTC)', latest: 'Hours of the day' },
    day: { name: 'Days', heading: 'By day', period: 'Day', latest: 'Latest days' },
    week: { name: 'Weeks', heading: 'By week', period: 'Week', latest: 'Latest weeks' },
    month: { name: 'Months', heading: 'By month', period: 'Month', latest: 'Latest months' },
  },
  presets: {
    hour: (days: number): string => (days === 1 ? 'Today' : 'Yesterday'),
    day: (days: number) => `${days} days`,
    week: (weeks: number) => `${weeks} weeks`,
    month: (months: number) => `${months} months`,
  },
  showAll: {
    hour: (count: string) => `Show all ${count} hours`,
    day: (count: string) => `Show all ${count} days`,
    week: (count: string) => `Show all ${count} weeks`,
    month: (count: string) => `Show all ${count} months`,
  },
  showFewer: 'Show fewer',
  weekShort: (week: number) => `W${week}`,
  week: (year: string, week: number, from: string, to: string) => `Week ${week}, ${year} · ${from} – ${to}`,
  rangeFaults: {
    incomplete: 'Choose both dates.',
    reversed: 'The “From” date must not be after the “To” date.',
    tooLong: 'Choose a range of at most 400 days.',
  },
  csv: 'Download CSV',
  csvFailed: 'Could not create the CSV file',
  uniqueVisitors: 'unique visitors',
  chartLabel: (what: string, from: string, to: string) =>
    `Chart: ${what}, ${from} to ${to}. The table below has the same numbers.`,
  noClicksInRange: 'No clicks in this date range.',
  seriesFailed: 'Could not load the figures of this date range',

  day: 'Day',
  tableClicks: 'Clicks',
  tableVisitors: 'Unique visitors',

  topTargets: 'Top targets',
  rank: 'Rank',
  csvOf: (list: string) => `Download CSV: ${list}`,
  targetsFailed: 'Could not load the top targets',
  noTargets: 'No clicks with a target in this date range.',
  blankTarget: '(blank)',
  allTargets: 'All targets. Select one in “Top targets” to see its days.',
  onlyTarget: 'Target:',
  targetByDay: 'A target has figures by day only.',
  showAllTargets: 'Show all targets',
  announceTarget: (target: string) => `Shows the days of ${target}.`,
  announceAllTargets: 'Shows all targets.',

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
  dayUtc: (day) => `${day} UTC`,
  clicks: 'クリック',
  visitors: '訪問者',
  highest: (count, day) => `最多 ${count}回 · ${day}`,
  highestNow: '最多:今日',
  noClicksToday: '今日のクリックはまだありません。',
  marksNote: '長い線は直近30日間でクリックが最も多い日、短い線はクリックがあった直近7日分です。',
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
  target: 'クリック対象',
  targetHint: 'クリックを何に数えるか(ボタンやページなど)です。「上位のクリック対象」で誰でも閲覧できます。',
  targetFaults: {
    empty: '1文字以上入力してください。',
    tooLong: '100文字以内で入力してください。',
    control: '制御文字は使用できません。',
  },

  save: '保存',
  saveField: (field) => `保存:${field}`,
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

  history: 'クリックの推移',
  unit: '時間の単位',
  units: {
    hour: { name: '時間', heading: '時間別', period: '時刻(UTC)', latest: '1日の時間別クリック' },
    day: { name: '日', heading: '日別', period: '日付', latest: '最近の日別クリック' },
    week: { name: '週', heading: '週別', period: '週', latest: '最近の週別クリック' },
    month: { name: '月', heading: '月別', period: '月', latest: '最近の月別クリック' },
  },
  presets: {
    hour: (days) => (days === 1 ? '今日' : '昨日'),
    day: (days) => `${days}日間`,
    week: (weeks) => `${weeks}週間`,
    month: (months) => `${months}か月`,
  },
  showAll: {
    hour: (count) => `${count}時間分をすべて表示`,
    day: (count) => `${count}日分をすべて表示`,
    week: (count) => `${count}週分をすべて表示`,
    month: (count) => `${count}か月分をすべて表示`,
  },
  showFewer: '一部だけ表示',
  weekShort: (week) => `${week}週`,
  week: (year, week, from, to) => `${year}年第${week}週 · ${from}~${to}`,
  rangeFaults: {
    incomplete: '開始日と終了日を選択してください。',
    reversed: '開始日は終了日以前の日付にしてください。',
    tooLong: '期間は400日以内にしてください。',
  },
  csv: 'CSV をダウンロード',
  csvFailed: 'CSV を作成できませんでした',
  uniqueVisitors: 'ユニーク訪問者',
  chartLabel: (what, from, to) => `グラフ:${what}、${from}から${to}まで。同じ数値が下の表にあります。`,
  noClicksInRange: 'この期間のクリックはありません。',
  seriesFailed: 'この期間の数値を読み込めません',

  day: '日付',
  tableClicks: 'クリック',
  tableVisitors: 'ユニーク訪問者',

  topTargets: '上位のクリック対象',
  rank: '順位',
  csvOf: (list) => `CSV をダウンロード:${list}`,
  targetsFailed: '上位のクリック対象を読み込めません',
  noTargets: 'この期間に、対象のあるクリックはありません。',
  blankTarget: '(空白)',
  allTargets: 'すべての対象。「上位のクリック対象」で選ぶと、その対象の日別クリックを表示します。',
  onlyTarget: '対象:',
  targetByDay: '対象ごとの数値は日別のみです。',
  showAllTargets: 'すべての対象を表示',
  announceTarget: (target) => `${target}の日別クリックを表示しています。`,
  announceAllTargets: 'すべての対象を表示しています。',

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
