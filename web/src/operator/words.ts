/** The words of the operator's page. What CloudWatch has a name for keeps it; numbers arrive already formatted. */
import type { Dictionary } from '../shared/i18n.svelte.ts';
import type { PanelName } from './panels.ts';

const en = {
  title: 'Operator · Tidemark',
  heading: 'What the stack does',
  lead: 'The functions, streams and tables of the stack on this machine, in CloudWatch’s terms: the last 15 minutes, every two seconds anew.',
  footer: 'In the cloud, the CloudWatch dashboard of the template shows the same.',

  calm: 'All is calm: nothing waits for a person.',
  quarantined: (count: string) => `${count} records in quarantine`,
  failed: (count: string) => `${count} batches given up`,
  unsent: (count: string) => `${count} mails or reminders not sent`,
  errors: (count: string) => `${count} failed invocations`,
  throttled: (count: string) => `${count} throttled`,
  gone: 'The stack does not answer',
  goneDetail: 'It may have been stopped. What you see is what was known last; this page keeps asking.',
  empty: 'Nothing has happened in the last 15 minutes. A click at the buoy is enough to see something.',
  toBuoy: 'To the buoy',

  elsewhere: 'There is no local stack behind this address',
  elsewhereLead: 'This page shows a stack that runs on the machine you sit at, and only there.',
  elsewhereCloud: 'In the cloud, look at the CloudWatch dashboard that the template makes:',
  elsewhereCloudWhere:
    'In the AWS console under CloudWatch, Dashboards. The stage is the one that was deployed; without a choice it is dev.',
  elsewhereNetwork: 'On the network of somebody’s machine, ask at that machine: its measurements are for nobody else.',

  panels: {
    requests: 'Requests to the API',
    lag: 'How far statistics lag behind clicks, ms',
    durations: 'Function durations, ms (99th percentile)',
    errors: 'Function errors',
    writeUnits: 'Write units: table and index',
    needsPerson: 'Needs a person: quarantined, given up, or not sent',
    counted: 'Clicks counted',
    caught: 'What exactness has caught: clicks that came twice, visitors another shard had seen',
    gameUnits: 'Games: read and write units',
    gamesFinished: 'Games finished',
  } satisfies Record<PanelName, string>,
  chartLabel: (heading: string, lines: string) => `Chart of the last 15 minutes. ${heading}: ${lines}`,
  nothing: 'nothing yet',
  ago: '15 min ago',
  now: 'now',

  functions: 'Functions',
  name: 'Function',
  invocations: 'Invocations',
  errorsColumn: 'Errors',
  throttles: 'Throttles',
  p50: 'p50, ms',
  p99: 'p99, ms',
  max: 'max, ms',
  cold: 'Cold starts',
  instances: 'Instances',
  busy: (running: string, busy: string) => `${running} (${busy} busy)`,

  streams: 'Streams',
  mapping: 'Stream',
  lagNow: 'Lag now',
  waiting: 'Waiting',
  batches: 'Batches',
  retries: 'Retries',
  bisects: 'Bisects',
  sentAway: 'Records given up',
  queue: 'Failure queue',

  tables: 'Tables and indexes',
  table: 'Table',
  readUnits: 'Read units',
  writeUnits: 'Write units',
  throttledRequests: 'Throttled',
  tablesNote: 'Units are what the requests would consume on AWS. Another engine than the embedded one tells none.',
};

const ja: typeof en = {
  title: '運用 · Tidemark',
  heading: 'スタックのようす',
  lead: 'このマシンで動く関数・ストリーム・テーブルを CloudWatch の用語で示します。直近15分間、2秒ごとに更新。',
  footer: 'クラウドでは、テンプレートの CloudWatch ダッシュボードに同じものが表示されます。',

  calm: '異常ありません。対応が必要なものはありません。',
  quarantined: (count) => `隔離された記録 ${count}件`,
  failed: (count) => `処理を断念したバッチ ${count}件`,
  unsent: (count) => `未送信のメール・お知らせ ${count}件`,
  errors: (count) => `失敗した呼び出し ${count}回`,
  throttled: (count) => `スロットリング ${count}回`,
  gone: 'スタックから応答がありません',
  goneDetail: '停止した可能性があります。表示は最後に読み込めた内容です。自動で問い合わせを続けます。',
  empty: 'この15分間は何も起きていません。ブイを一度押せば、ここに現れます。',
  toBuoy: 'ブイを押しに行く',

  elsewhere: 'このアドレスの先にローカルスタックはありません',
  elsewhereLead: 'このページは、いま操作しているマシンで動くスタックだけを表示します。',
  elsewhereCloud: 'クラウドでは、テンプレートが作る CloudWatch ダッシュボードをご覧ください:',
  elsewhereCloudWhere:
    'AWS コンソールの CloudWatch「ダッシュボード」にあります。stage はデプロイ時に選んだ名前で、既定は dev です。',
  elsewhereNetwork:
    'ネットワーク越しに開いている場合は、スタックが動くマシン自身で開いてください。計測値はほかからは見られません。',

  panels: {
    requests: 'API へのリクエスト',
    lag: '統計がクリックから遅れる時間(ミリ秒)',
    durations: '関数の所要時間(ミリ秒、99パーセンタイル)',
    errors: '関数のエラー',
    writeUnits: '書き込みユニット:テーブルとインデックス',
    needsPerson: '要対応:隔離、打ち切り、未送信',
    counted: '集計されたクリック',
    caught: '正確さの仕組みが捕えたもの:二重に届いたクリック、別シャードが見た訪問者',
    gameUnits: 'ゲーム:読み書きユニット',
    gamesFinished: '終わったゲーム',
  },
  chartLabel: (heading, lines) => `直近15分間のグラフ。${heading}:${lines}`,
  nothing: 'まだありません',
  ago: '15分前',
  now: '現在',

  functions: '関数',
  name: '関数',
  invocations: '呼び出し',
  errorsColumn: 'エラー',
  throttles: '制限',
  p50: 'p50(ms)',
  p99: 'p99(ms)',
  max: '最大(ms)',
  cold: 'コールドスタート',
  instances: 'インスタンス',
  busy: (running, busy) => `${running}(実行中${busy})`,

  streams: 'ストリーム',
  mapping: 'ストリーム',
  lagNow: '現在の遅れ',
  waiting: '待ち',
  batches: 'バッチ',
  retries: '再試行',
  bisects: '二分割',
  sentAway: '断念した記録',
  queue: '失敗キュー',

  tables: 'テーブルとインデックス',
  table: 'テーブル',
  readUnits: '読み込みユニット',
  writeUnits: '書き込みユニット',
  throttledRequests: '制限',
  tablesNote: 'ユニットは AWS で消費されるはずの量です。内蔵以外のエンジンでは分かりません。',
};

/** Both languages. */
export const words: Dictionary<typeof en> = { en, ja };
