/**
 * The charts of the operator's page: the metrics of the CloudWatch dashboard in `template.yaml`, in
 * the same order.
 */
import type { Metrics, Series, Snapshot } from './api.ts';

/** The charts, in the order of the dashboard. */
export const PANELS = [
  'requests',
  'lag',
  'durations',
  'errors',
  'writeUnits',
  'needsPerson',
  'counted',
  'caught',
  'gameUnits',
  'gamesFinished',
  'activities',
  'activityLag',
] as const;
export type PanelName = (typeof PANELS)[number];

/** The charts that are always shown, the first of {@link PANELS}. The others are folded. */
export const SHOWN = 4;

/** A line of a chart. */
export interface Line {
  /** The name of the metric, the function or the index. */
  readonly name: string;
  /** One value for each slot; `null` when nothing was measured. */
  readonly values: readonly (number | null)[];
  /**
   * The same statistic over the whole window: for counters the sum, for measurements the maximum or
   * the p99.
   */
  readonly whole: number;
}

/** The statistic of a slot, as in CloudWatch. */
type Stat = 'sum' | 'maximum' | 'p99';

/** The most functions in a chart. More lines would be hard to distinguish. */
export const LINES_MAX = 3;

/** The lines of a chart. */
export function linesOf(panel: PanelName, now: Snapshot): readonly Line[] {
  const named = (binary: string): Metrics => now.functions.find((of) => of.binary === binary)?.metrics ?? {};
  const mappingOf = (binary: string) => now.mappings.find((of) => of.binary === binary);
  const line = (name: string, series: Series | undefined, stat: Stat): Line => lineOf(name, series, stat, now.slots);
  const units = (binary: string, metric: string, index = false): readonly Line[] =>
    now.tables
      .filter((of) => of.table === mappingOf(binary)?.table && (index || of.index === null))
      .map((of) => line(of.index ?? metric, of.metrics[metric], 'sum'));
  const perFunction = (metric: string, stat: Stat): readonly Line[] =>
    now.functions
      .filter((of) => of.metrics[metric] !== undefined)
      .map((of) => line(of.binary, of.metrics[metric], stat))
      .sort((a, b) => b.whole - a.whole)
      .slice(0, LINES_MAX);
  const lagOf = (binary: string): readonly Line[] => [
    line('IteratorAge', mappingOf(binary)?.metrics['IteratorAge'], 'maximum'),
    line('CountingLagMs', named(binary)['CountingLagMs'], 'maximum'),
  ];
  switch (panel) {
    case 'requests':
      return ['Count', '4xx', '5xx'].map((metric) => line(metric, now.api[metric], 'sum'));
    case 'lag':
      return lagOf('stats-aggregator');
    case 'durations':
      return perFunction('Duration', 'p99');
    case 'errors':
      return perFunction('Errors', 'sum');
    case 'writeUnits':
      return units('stats-aggregator', 'ConsumedWriteCapacityUnits', true);
    case 'needsPerson':
      return [
        summed(
          'RecordsQuarantined',
          ['stats-aggregator', 'activity-stats'].map((binary) =>
            line(binary, named(binary)['RecordsQuarantined'], 'sum'),
          ),
        ),
        summed(
          'RecordsUnreadable',
          ['game-archiver', 'stock-watch', 'clicks-watch'].map((binary) =>
            line(binary, named(binary)['RecordsUnreadable'], 'sum'),
          ),
        ),
        summed(
          'RowsUnreadable',
          now.functions.map((of) => line(of.binary, of.metrics['RowsUnreadable'], 'sum')),
        ),
        summed(
          'OnFailureDestinationDeliveredEventCount',
          now.mappings.map((of) => line(of.name, of.metrics['OnFailureDestinationDeliveredEventCount'], 'sum')),
        ),
        line('CodesNotMailed', named('okusuri-api')['CodesNotMailed'], 'sum'),
        line('RemindersFailed', named('okusuri-reminder')['RemindersFailed'], 'sum'),
      ];
    case 'counted':
      return [line('ClicksCounted', named('stats-aggregator')['ClicksCounted'], 'sum')];
    case 'caught':
      return [line('RecordsDuplicated', named('stats-aggregator')['RecordsDuplicated'], 'sum')];
    case 'gameUnits':
      return [
        ...units('game-archiver', 'ConsumedReadCapacityUnits'),
        ...units('game-archiver', 'ConsumedWriteCapacityUnits'),
      ];
    case 'gamesFinished':
      return [line('GamesFinished', named('game-archiver')['GamesFinished'], 'sum')];
    case 'activities':
      return ['ActivitiesCounted', 'RecordsDuplicated'].map((name) => line(name, named('activity-stats')[name], 'sum'));
    case 'activityLag':
      return lagOf('activity-stats');
  }
}

/** A metric as a line. */
export function lineOf(name: string, series: Series | undefined, stat: Stat, slots: number): Line {
  const values = Array.from({ length: slots }, (): number | null => (stat === 'sum' ? 0 : null));
  for (const point of series?.points ?? []) if (point.slot in values) values[point.slot] = point[stat];
  return { name, values, whole: series?.[stat] ?? 0 };
}

/** Adds up the lines of several counters. */
function summed(name: string, lines: readonly Line[]): Line {
  const values = lines[0]?.values.map((_, i) => lines.reduce((sum, line) => sum + (line.values[i] ?? 0), 0)) ?? [];
  return { name, values, whole: lines.reduce((sum, line) => sum + line.whole, 0) };
}

/** The kinds of problems, the most urgent first. */
export type AlertKind =
  'lost' | 'quarantined' | 'waiting' | 'failed' | 'errors' | 'unsent' | 'unreadable' | 'throttled' | 'throttledTable';

/** A problem that needs a person. */
export interface Alert {
  readonly kind: AlertKind;
  /** The stream, the table or the function. */
  readonly where: string;
  readonly count: number;
  /** The time of lost records. */
  readonly at?: string | null;
  /** The last error of the function. */
  readonly error?: string | null;
  /** The commands that resolve it, in their order. */
  readonly commands?: readonly string[];
}

/** The metrics of functions that need a person, in the last 15 minutes. */
const ALERTING = [
  ['errors', ['Errors']],
  ['unsent', ['CodesNotMailed', 'RemindersFailed']],
  ['unreadable', ['RecordsUnreadable', 'RowsUnreadable']],
  ['throttled', ['Throttles']],
] as const;

/** What counts the changes again that a function has lost. */
const REPAIRS: Readonly<Record<string, readonly string[]>> = {
  'stats-aggregator': ['--all', '--details', '--visitors'],
  'activity-stats': ['--products'],
};

/** The problems of the stack. `origin` is the address of its admin routes. */
export function alertsOf(now: Snapshot, origin: string): readonly Alert[] {
  const sum = (metrics: Metrics, names: readonly string[]): number =>
    names.reduce((total, name) => total + (metrics[name]?.sum ?? 0), 0);
  const alerts: readonly Alert[] = [
    ...now.mappings.map((of): Alert => ({
      kind: 'lost',
      where: streamOf(of),
      count: of.lostAt === null ? 0 : 1,
      at: of.lostAt,
      commands: [
        ...(REPAIRS[of.binary] ?? []).map((scope) => `tidemark recount ${scope} --repair`),
        `curl -X DELETE '${origin}/_local/lost?mapping=${encodeURIComponent(of.name)}'`,
      ],
    })),
    ...now.waiting.map(({ table, name, count, command }): Alert =>
      name === 'quarantine'
        ? { kind: 'quarantined', where: table, count, commands: [command] }
        : { kind: 'waiting', where: `${table}: ${name}`, count, commands: [command] },
    ),
    ...now.mappings.map((of): Alert => ({ kind: 'failed', where: streamOf(of), count: of.queue?.messages ?? 0 })),
    ...ALERTING.flatMap(([kind, names]) =>
      now.functions.map(({ binary, metrics, lastError }): Alert => ({
        kind,
        where: binary,
        count: sum(metrics, names),
        error: kind === 'errors' ? lastError : null,
      })),
    ),
    ...now.tables.map(({ table, index, metrics }): Alert => ({
      kind: 'throttledTable',
      where: index === null ? table : `${table}: ${index}`,
      count: sum(metrics, ['ThrottledRequests']),
    })),
  ];
  return alerts.filter(({ count }) => count > 0);
}

/** A mapping as its table and its function. */
export function streamOf({ table, binary }: Pick<Snapshot['mappings'][number], 'table' | 'binary'>): string {
  return `${table} → ${binary}`;
}

/**
 * The SVG paths of a line, which is interrupted where there are no values, and of the points
 * without a neighbour: as a line, they would be invisible or a spike. `top` is the value at the
 * upper edge.
 */
export function pathOf(values: readonly (number | null)[], top: number, width: number, height: number) {
  const step = width / Math.max(values.length - 1, 1);
  let [line, points] = ['', ''];
  for (const [i, value] of values.entries()) {
    if (value === null) continue;
    const [before = null, after = null] = [values[i - 1], values[i + 1]];
    const x = Math.round(i * step * 10) / 10;
    const y = Math.round((height - (Math.min(value, top) / top) * height) * 10) / 10;
    line += `${before === null ? 'M' : 'L'}${x} ${y}`;
    const isAlone = !before && !after && (value > 0 || (before === null && after === null));
    // A line of length 0 with round ends.
    if (isAlone) points += `M${x} ${y}h0`;
  }
  return { line, points };
}

/** A round number at or above the greatest value: 1, 2 or 5 times a power of 10. */
export function topOf(lines: readonly Line[]): number {
  const greatest = Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  if (greatest === 0) return 1;
  const power = 10 ** Math.floor(Math.log10(greatest));
  return ([1, 2, 5, 10].find((factor) => factor * power >= greatest) ?? 10) * power;
}
