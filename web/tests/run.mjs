/**
 * Runs the browser tests of a group, and prints the seconds of each file at the end.
 *
 *     node tests/run.mjs journeys|full [system]
 *
 * The folder of a test file is its group: `browser/journeys/` or `browser/full/`. Its name begins
 * with its system: `clicks-targets.test.mjs`. In a lane, the files run one after the other, because
 * those of the clicks compare the statistics of one stack. The full group has two lanes: most of a
 * browser test is waiting.
 */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const [group = '', system] = process.argv.slice(2);
const browser = path.resolve(import.meta.dirname, 'browser');
const TEST = '.test.mjs';

const found = readdirSync(browser, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith(TEST));
const strays = found.filter((file) => !/^(journeys|full)[\\/][^\\/]+$/.test(file));
if (strays.length > 0) stop(`These tests are in no group, so nothing would run them: ${strays.join(', ')}`);
const inGroup = found.filter((file) => path.dirname(file) === group);
if (inGroup.length === 0) stop(`"${group}" is not a group. The groups are journeys and full.`);
const systemOf = (/** @type {string} */ file) => path.basename(file, TEST).replace(/-.*/, '');
const files = inGroup.filter((file) => system === undefined || systemOf(file) === system).sort();
if (files.length === 0)
  stop(`"${system}" has no tests in ${group}. Those with tests: ${[...new Set(inGroup.map(systemOf))].join(', ')}.`);

/** The systems of the second lane: no test of the others looks at them. */
const SECOND = new Set(['game', 'journal', 'okusuri', 'shop']);
/** Their files that write to the stack itself: the faults of the first lane would hit their writes too. */
const LIVE = new Set(['game-bots', 'game-dead-connection']);
const isSecond = (/** @type {string} */ file) =>
  group === 'full' && SECOND.has(systemOf(file)) && !LIVE.has(path.basename(file, TEST));
const lanes = [files.filter((file) => !isSecond(file)), files.filter(isSecond)].filter((lane) => lane.length > 0);

/** Of the message of a failure. */
const MESSAGE_MAX = 500;

/** @type {string[]} */
const times = [];
const failures = new Map();
/** @type {string[]} */
const messages = [];
for (const lane of lanes) {
  const tests = run({ files: lane.map((file) => path.join(browser, file)), concurrency: 1 });
  tests.on('test:fail', ({ name, file = '', details }) => {
    failures.set(file, (failures.get(file) ?? 0) + 1);
    const { cause } = details.error;
    messages.push(`✖ ${name}: ${String(cause instanceof Error ? cause.message : cause).slice(0, MESSAGE_MAX)}`);
    process.exitCode = 1;
  });
  tests.on('test:complete', ({ name, file = '', details }) => {
    // The end of the file itself has the name of the file.
    if (path.resolve(name) !== file) return;
    const seconds = (details.duration_ms / 1_000).toFixed(1).padStart(7);
    const failed = failures.get(file) ?? 0;
    times.push(`${seconds}  ${path.relative(browser, file)}${failed > 0 ? `  (${failed} failed)` : ''}`);
  });
  tests.compose(new spec()).pipe(process.stdout, { end: false });
}
// After the summaries of the reporters. The end of a long log is read first, so failures come last.
process.once('beforeExit', () => console.log(['\nseconds  file', ...times.sort(), ...messages].join('\n')));

/** @param {string} reason @returns {never} */
function stop(reason) {
  console.error(reason);
  process.exit(2);
}
