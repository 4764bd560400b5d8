/**
 * The texts of the operator's page. Metrics keep their CloudWatch names; numbers are passed in
 * already formatted.
 */
import type { Dictionary } from '../shared/i18n.svelte.ts';
import type { FaultName } from './faults.ts';
import type { AlertKind, PanelName } from './panels.ts';

const inTerminal = (where: string): string => `The reason is in the terminal of the stack: lines with “${where} |”.`;
const inTerminalJa = (where: string): string => `理由はスタックのターミナルの「${where} |」を含む行にあります。`;

const en = {
  title: 'Operator · Tidemark',
  heading: 'Local stack metrics',
  lead: 'The stack on this machine in the last 15 minutes, with CloudWatch’s names. Updates every 2 seconds.',
  footer: 'For a deployed stack, see the CloudWatch dashboard that the template creates.',

  calm: 'No problems found. There is nothing for you to do.',
  alerts: {
    lost: () => 'Lost records',
    quarantined: (count) => `${count} ${count === '1' ? 'record' : 'records'} in quarantine`,
    waiting: (count) => `${count} waiting`,
    failed: (count) => `${count} failed ${count === '1' ? 'batch' : 'batches'}`,
    errors: (count) => `${count} failed ${count === '1' ? 'invocation' : 'invocations'}`,
    unsent: (count) => `${count} ${count === '1' ? 'email or reminder' : 'emails or reminders'} not sent`,
    unreadable: (count) => `${count} unreadable ${count === '1' ? 'record' : 'records'} skipped`,
    throttled: (count) => `${count} throttled ${count === '1' ? 'invocation' : 'invocations'}`,
    throttledTable: (count) => `${count} throttled ${count === '1' ? 'request' : 'requests'}`,
  } satisfies Record<AlertKind, (count: string) => string>,
  reasons: {
    lost: () => 'The stream deleted records after 24 hours, before they were read. Repair the numbers, then forget it:',
    quarantined: () => 'They could not be read. Review and resolve:',
    waiting: () => 'Review and resolve:',
    failed: () => 'The function failed until the retries were used up. The batches are in its failure queue.',
    errors: inTerminal,
    unsent: inTerminal,
    unreadable: inTerminal,
    throttled: () => 'All instances that it may have were busy.',
    throttledTable: () => 'The requests exceeded the capacity, or a fault was injected.',
  } satisfies Record<AlertKind, (where: string) => string>,
  lastError: 'Last error:',
  gone: 'The local stack is not responding',
  goneDetail: 'It may have been stopped. You see the last known values. This page keeps trying to connect.',
  empty: 'No activity in the last 15 minutes. Click once on the clicks page to see data here.',
  toClicks: 'Go to clicks',

  noStack: 'There is no local stack at this address',
  noStackLead: 'This page only shows a stack that runs on the computer you are using.',
  noStackCloud: 'For a deployed stack, open this CloudWatch dashboard:',
  noStackCloudWhere:
    'You find it in the AWS console under CloudWatch, Dashboards. <stage> is the stage you deployed; the default is dev.',
  noStackNetwork:
    'If you opened this page over a network, open it on the computer that runs the stack. Its metrics are not available to other computers.',

  panels: {
    requests: 'Requests to the API',
    lag: 'How far statistics lag behind clicks, ms',
    durations: 'Function durations, ms (99th percentile)',
    errors: 'Function errors',
    writeUnits: 'Write units: table and index',
    needsPerson: 'Needs action: quarantined, failed, or not sent',
    counted: 'Clicks counted',
    caught: 'Repeated deliveries that were not counted again',
    gameUnits: 'Games: read and write units',
    gamesFinished: 'Games finished',
    activities: 'Activities counted',
    activityLag: 'How far product statistics lag behind activities, ms',
  } satisfies Record<PanelName, string>,
  moreCharts: 'More charts',
  chartLabel: (heading: string, lines: string) => `Chart of the last 15 minutes. ${heading}: ${lines}`,
  noData: 'no data yet',
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
  lagNow: 'Current lag',
  waiting: 'Waiting records',
  batches: 'Batches',
  retries: 'Retries',
  bisects: 'Bisects',
  givenUp: 'Failed records',
  queue: 'Failure queue',

  tables: 'Tables and indexes',
  table: 'Table',
  readUnits: 'Read units',
  writeUnits: 'Write units',
  throttledRequests: 'Throttled',
  tablesNote: 'The units that these requests would consume on AWS. Only the embedded engine reports them.',

  faults: 'Inject faults',
  faultsLead: 'Try what the functions survive. A fault stays on until you switch it off, or until the stack stops.',
  faultsOf: 'Faults of functions are for',
  allFunctions: 'all functions',
  faultNames: {
    killBefore: 'Kill an instance before one request in ten',
    killAfter: 'Kill an instance after one request in ten, and lose its response',
    twice: 'Deliver one stream batch in ten twice',
    slow: 'Delay every request to a function by 500 ms',
    throttle: 'Throttle one write in ten to DynamoDB',
    lose: 'Lose the reply to one write in ten to DynamoDB',
    cut: 'Break a WebSocket connection at one message in a hundred',
  } satisfies Record<FaultName, string>,
  faultsOn: 'Faults are switched on, so some failures are injected.',
  faultsOff: 'Switch all off',
  faultsFailed: 'The faults could not be changed',
};

const ja: typeof en = {
  title: '運用 · Tidemark',
  heading: 'ローカルスタックのメトリクス',
  lead: 'このマシンで動いているスタックの直近15分間の状態を、CloudWatch と同じ名前で表示します。2秒ごとに更新します。',
  footer: 'デプロイしたスタックについては、テンプレートが作成する CloudWatch ダッシュボードをご覧ください。',

  calm: '問題は見つかりませんでした。対応が必要なものはありません。',
  alerts: {
    lost: () => '失われた記録',
    quarantined: (count) => `隔離中の記録 ${count}件`,
    waiting: (count) => `対応待ち ${count}件`,
    failed: (count) => `失敗したバッチ ${count}件`,
    errors: (count) => `失敗した呼び出し ${count}回`,
    unsent: (count) => `送信できなかったメール・お知らせ ${count}件`,
    unreadable: (count) => `読み取れずスキップした記録 ${count}件`,
    throttled: (count) => `スロットリングされた呼び出し ${count}回`,
    throttledTable: (count) => `スロットリングされたリクエスト ${count}件`,
  },
  reasons: {
    lost: () =>
      '記録は読み取られる前に、24時間後にストリームから削除されました。数値を修復してから、この表示を消します:',
    quarantined: () => '読み取れない記録です。確認と対応:',
    waiting: () => '確認と対応:',
    failed: () => '関数が再試行の上限まで失敗しました。バッチは失敗キューにあります。',
    errors: inTerminalJa,
    unsent: inTerminalJa,
    unreadable: inTerminalJa,
    throttled: () => '使用できるインスタンスがすべて実行中でした。',
    throttledTable: () => '容量を超えたか、障害を注入したためです。',
  },
  lastError: '最後のエラー:',
  gone: 'ローカルスタックから応答がありません',
  goneDetail: '停止している可能性があります。最後に取得した値を表示しています。接続は自動で再試行します。',
  empty: '直近15分間のデータはありません。クリックのページで1回クリックすると、ここに表示されます。',
  toClicks: 'クリックのページへ',

  noStack: 'このアドレスにローカルスタックはありません',
  noStackLead: 'このページに表示できるのは、お使いのコンピューターで動いているスタックだけです。',
  noStackCloud: 'デプロイしたスタックについては、次の CloudWatch ダッシュボードをご覧ください:',
  noStackCloudWhere:
    'AWS コンソールの「CloudWatch」→「ダッシュボード」にあります。<stage> はデプロイしたステージ名で、既定は dev です。',
  noStackNetwork:
    'ネットワーク経由で開いている場合は、スタックが動いているコンピューターで開いてください。メトリクスはほかのコンピューターからは取得できません。',

  panels: {
    requests: 'API へのリクエスト',
    lag: 'クリックから統計に反映されるまでの遅れ(ミリ秒)',
    durations: '関数の実行時間(ミリ秒、99パーセンタイル)',
    errors: '関数のエラー',
    writeUnits: '書き込みユニット:テーブルとインデックス',
    needsPerson: '要対応:隔離、失敗、未送信',
    counted: '集計したクリック',
    caught: '二重に集計しなかった再配信',
    gameUnits: 'ゲーム:読み取り・書き込みユニット',
    gamesFinished: '終了したゲーム',
    activities: '集計した操作',
    activityLag: '操作から商品の統計に反映されるまでの遅れ(ミリ秒)',
  },
  moreCharts: 'その他のグラフ',
  chartLabel: (heading, lines) => `直近15分間のグラフ。${heading}:${lines}`,
  noData: 'データはまだありません',
  ago: '15分前',
  now: '現在',

  functions: '関数',
  name: '関数',
  invocations: '呼び出し',
  errorsColumn: 'エラー',
  throttles: 'スロットリング',
  p50: 'p50(ms)',
  p99: 'p99(ms)',
  max: '最大(ms)',
  cold: 'コールドスタート',
  instances: 'インスタンス',
  busy: (running, busy) => `${running}(実行中${busy})`,

  streams: 'ストリーム',
  mapping: 'ストリーム',
  lagNow: '現在の遅れ',
  waiting: '処理待ちの記録',
  batches: 'バッチ',
  retries: '再試行',
  bisects: 'バッチの分割',
  givenUp: '失敗した記録',
  queue: '失敗キュー',

  tables: 'テーブルとインデックス',
  table: 'テーブル',
  readUnits: '読み取りユニット',
  writeUnits: '書き込みユニット',
  throttledRequests: 'スロットリング',
  tablesNote: 'これらのリクエストが AWS で消費するユニット数です。内蔵エンジンを使う場合だけ表示されます。',

  faults: '障害を起こす',
  faultsLead: '関数が何に耐えられるかを試せます。障害は、オフにするかスタックが止まるまで続きます。',
  faultsOf: '関数の障害の対象',
  allFunctions: 'すべての関数',
  faultNames: {
    killBefore: 'リクエスト10件に1件の前に、インスタンスを強制終了する',
    killAfter: 'リクエスト10件に1件の後に、インスタンスを強制終了して応答を失う',
    twice: 'ストリームのバッチ10件に1件を2回届ける',
    slow: '関数へのリクエストをすべて500ミリ秒遅らせる',
    throttle: 'DynamoDB への書き込み10件に1件をスロットリングする',
    lose: 'DynamoDB への書き込み10件に1件の応答を失う',
    cut: 'メッセージ100件に1件で WebSocket 接続を切る',
  },
  faultsOn: '障害がオンになっているため、一部の失敗は意図的に起こされたものです。',
  faultsOff: 'すべてオフにする',
  faultsFailed: '障害の設定を変更できませんでした',
};

/** Both languages. */
export const words: Dictionary<typeof en> = { en, ja };
