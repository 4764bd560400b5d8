/** The bots of the drawing game: their drawings, their words and their turns. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { encodePoints } from '../../src/game/board/points.ts';
import { Picture } from '../../src/game/board/picture.ts';
import { BOARD_HEIGHT, BOARD_WIDTH, INK_BUDGET, inkOf, MARGIN, type Op } from '../../src/game/board/protocol.ts';
import { mainColour, WHOLE } from '../../src/game/board/raster.ts';
import { Bot, fits } from '../../src/game/bots/bot.ts';
import { DRAWINGS, type Drawing } from '../../src/game/bots/drawings.ts';
import { Pen } from '../../src/game/bots/pen.ts';
import { recallBots, rememberBots } from '../../src/game/bots/stored.ts';
import { wordsOf } from '../../src/game/bots/wordList.ts';
import {
  WORD_LANGUAGES,
  type ClientMessage,
  type Room,
  type Turn,
  type WordLanguage,
} from '../../src/game/protocol.ts';
import type { Later, TransportEvents } from '../../src/game/transport.ts';
import { exampleRoom } from './game-fakes.ts';

const STEP_MS = 25;
/** The main colour of each pixel. */
const COLOURS = Uint32Array.from({ length: 1 << 16 }, (_, pixel) => mainColour(pixel));
const LISTS = Object.fromEntries(WORD_LANGUAGES.map((code) => [code, wordList(code)])) as Record<
  WordLanguage,
  readonly string[]
>;
const ME = '0199c0d0-2222-7bbb-8bbb-000000000002';
const OTHER = '0199c0d0-1111-7aaa-8aaa-000000000001';

function wordList(language: WordLanguage): readonly string[] {
  return wordsOf(readFileSync(`../crates/domain/src/game/words_${language}.txt`, 'utf8'), language);
}

const later: Later = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
afterEach(() => {
  mock.timers.reset();
  Reflect.deleteProperty(globalThis, 'sessionStorage');
});

function pass(ms: number): void {
  for (let passed = 0; passed < ms; passed += STEP_MS) mock.timers.tick(STEP_MS);
}

const opsOf = ({ marks }: Drawing): Op[] =>
  marks.map((mark, id) =>
    mark.is === 'fill'
      ? { op: 'fill', id: id + 1, color: mark.colour, at: [mark.at.x, mark.at.y] }
      : {
          ...{ op: 'stroke', id: id + 1, color: mark.brush.colour, width: mark.brush.width, tool: 'pen' },
          points: encodePoints(mark.points),
          end: true,
        },
  );

/** A bot with a scripted server. */
class World {
  readonly sent: ClientMessage[] = [];
  readonly over = new Set<string>();
  #events: TransportEvents | undefined;
  #version = 100;
  readonly bot: Bot;

  constructor(random: () => number = () => 0) {
    this.bot = new Bot({
      ticket: () => Promise.resolve('ticket'),
      open: (_, events) => {
        this.#events = events;
        return { send: (text) => this.sent.push(JSON.parse(text) as ClientMessage), close: () => {} };
      },
      later,
      random,
      words: (language) => LISTS[language],
      over: this.over,
      onRoom: () => {},
    });
  }

  hear(message: object): void {
    this.#events?.onText(JSON.stringify(message));
  }

  async welcomed(room: Room): Promise<this> {
    await new Promise((resolve) => setImmediate(resolve));
    this.hear({ type: 'welcome', protocol: 1, you: { playerId: ME, role: 'player' }, room });
    this.hear({ type: 'chat', lines: [] });
    return this;
  }

  show(room: Room): void {
    this.hear({ type: 'room', room: { ...room, version: ++this.#version } });
  }

  of<A extends ClientMessage['action']>(action: A): Extract<ClientMessage, { action: A }>[] {
    return this.sent.filter((message): message is Extract<ClientMessage, { action: A }> => message.action === action);
  }
}

/** A room in which the bot or another player draws. */
function playing(phase: Turn['phase'], drawerId: string, changes: Partial<Turn> = {}): Room {
  const room = exampleRoom('room-drawing-guesser');
  const turn = { ...room.turn!, phase, drawerId, solvers: [], answer: null, options: [], ...changes };
  return { ...room, settings: { ...room.settings, language: 'en' }, turn };
}

const options = (...words: string[]) => words.map((word) => ({ word, gloss: null }));

test('each drawing is of a word of every built-in list', () => {
  for (const language of WORD_LANGUAGES) {
    const words = DRAWINGS.map(({ word }) => word[language]);
    for (const word of words) assert.ok(LISTS[language].includes(word), `${language}: ${word}`);
    assert.equal(new Set(words).size, words.length, language);
  }
  assert.ok(DRAWINGS.length >= 50);
});

test('each drawing stays on the board, and no fill runs out of its outline', () => {
  for (const drawing of DRAWINGS) {
    const { en } = drawing.word;
    for (const mark of drawing.marks) {
      for (const { x, y } of mark.is === 'fill' ? [mark.at] : mark.points) {
        assert.ok(x >= -MARGIN && x <= BOARD_WIDTH + MARGIN && y >= -MARGIN && y <= BOARD_HEIGHT + MARGIN, en);
      }
    }
    const ops = opsOf(drawing);
    assert.ok(ops.reduce((sum, op) => sum + inkOf(op), 0) < INK_BUDGET / 2, en);
    const picture = new Picture();
    picture.apply(ops);
    const image = new Uint32Array(BOARD_WIDTH * BOARD_HEIGHT);
    picture.copyTo(image, WHOLE, COLOURS);
    for (const corner of [0, BOARD_WIDTH - 1, image.length - BOARD_WIDTH, image.length - 1]) {
      assert.equal(image[corner], 0, `${en} at ${corner}`);
    }
  }
});

test('a drawing takes at most half a minute and 50 messages', () => {
  for (const drawing of DRAWINGS) {
    const sent: string[] = [];
    const pen = new Pen('01.01', drawing, ({ action }) => sent.push(action), later);
    pass(30_000);
    const drawn = sent.length;
    pass(10_000);
    assert.equal(sent.length, drawn, `${drawing.word.en} is not done`);
    assert.ok(drawn > 10 && drawn <= 50, `${drawing.word.en}: ${drawn}`);
    pen.dispose();
  }
});

test('a bot gets ready, and as the host starts with others who are ready', async () => {
  const room = exampleRoom('room-waiting');
  const players = room.players.map((player) => ({ ...player, ready: player.playerId !== ME, connected: true }));
  const world = await new World().welcomed({ ...room, players });
  pass(500);
  assert.deepEqual(world.of('ready'), [{ action: 'ready', ready: true }]);
  world.show({ ...room, hostId: ME, players: players.map((player) => ({ ...player, ready: false })) });
  pass(4_000);
  assert.deepEqual(world.of('start'), []);
  world.show({ ...room, hostId: ME, players });
  pass(2_000);
  assert.deepEqual(world.of('start'), [{ action: 'start' }]);
});

test('a bot takes a word that it can draw, or types one that nobody drew', async () => {
  const world = await new World().welcomed(playing('choosing', ME, { options: options('alien', 'cat', 'chef') }));
  pass(2_500);
  assert.deepEqual(world.of('choose'), [{ action: 'choose', turnId: '02.01', option: 1 }]);
  world.over.add('cat').add('sun');
  pass(3_000);
  assert.deepEqual(world.of('choose')[1], { action: 'choose', turnId: '02.01', word: 'moon' });
});

test('a bot draws its word, saves it at the end, and skips a word without a drawing', async () => {
  const world = await new World().welcomed(playing('choosing', ME));
  world.show(playing('drawing', ME, { answer: 'cat' }));
  pass(4_000);
  const drawn = world.of('draw');
  assert.ok(drawn.length > 2);
  world.show(playing('reveal', ME, { answer: 'cat' }));
  const saved = world.of('save').flatMap(({ batches }) => batches.map(({ seq }) => seq));
  assert.equal(saved.length, Math.max(...saved), 'each batch once');
  assert.ok(saved.length >= drawn.length);
  assert.ok(world.over.has('cat'));
  pass(4_000);
  assert.equal(world.of('draw').length, drawn.length);

  world.show(playing('choosing', ME, { turnId: '02.02' }));
  world.show(playing('drawing', ME, { turnId: '02.02', answer: 'alien' }));
  pass(2_000);
  assert.deepEqual(world.of('skip'), [{ action: 'skip', turnId: '02.02' }]);
});

test('after a reload, a bot leaves its begun drawing as it is', async () => {
  const world = await new World().welcomed(playing('drawing', ME, { answer: 'cat' }));
  pass(10_000);
  assert.deepEqual([world.of('draw'), world.of('skip')], [[], []]);
});

test('a guess fits the hint, is new to everybody, and comes every nine seconds', async () => {
  const world = await new World().welcomed(playing('drawing', OTHER, { mask: '＿＿＿' }));
  world.over.add('fox');
  const line = { id: 'a', playerId: OTHER, name: 'A', text: ' DOG', kind: 'guess', at: 1 };
  world.hear({ type: 'chat', lines: [line] });
  const times: number[] = [];
  for (let ms = 0; ms < 80_000; ms += STEP_MS) {
    const before = world.of('say').length;
    pass(STEP_MS);
    for (const { id, text } of world.of('say').slice(before)) {
      times.push(ms);
      world.hear({ type: 'chat', lines: [{ id, playerId: ME, name: 'B', text, kind: 'guess', at: ms }] });
    }
  }
  const said = world.of('say').map(({ text }) => text);
  assert.equal(new Set(said).size, said.length);
  assert.ok(said.length >= 5 && said.every((word) => fits(word, '＿＿＿') && LISTS.en.includes(word)), said.join());
  assert.ok(!said.includes('dog') && !said.includes('fox'));
  assert.ok(times[0]! >= 11_900 && times.every((ms, i) => i === 0 || ms - times[i - 1]! >= 8_900), times.join());
});

test('a bot does not repeat a guess that another player wrote in lower case', async () => {
  const room = playing('drawing', OTHER, { mask: '＿u＿d' });
  const world = await new World().welcomed({ ...room, settings: { ...room.settings, language: 'de' } });
  const line = { id: 'a', playerId: OTHER, name: 'A', text: 'hund', kind: 'guess', at: 1 };
  world.hear({ type: 'chat', lines: [line] });
  pass(60_000);
  assert.deepEqual(
    world.of('say').filter(({ text }) => text === 'Hund'),
    [],
  );
  assert.ok(world.of('say').length > 0);
});

test('a bot stops guessing when it has the word, and when it leaves', async () => {
  const solvers = [{ playerId: ME, points: 50 }];
  const solved = await new World().welcomed(playing('drawing', OTHER, { mask: '＿＿＿', solvers }));
  const gone = await new World().welcomed(playing('drawing', OTHER, { mask: '＿＿＿' }));
  gone.bot.leave();
  pass(60_000);
  assert.deepEqual([solved.of('say'), gone.of('say'), gone.of('leave').length], [[], [], 1]);
});

test('a mask shows spaces and hyphens, which hide no letter', () => {
  assert.ok(fits('ice cream', '＿c＿ ＿＿＿＿＿'));
  assert.ok(!fits('ice-cream', '＿c＿ ＿＿＿＿＿'));
  assert.ok(!fits('a b', '＿＿＿'));
});

test('stored bots belong to one game, and a damaged entry is ignored', () => {
  const items = new Map<string, string>();
  const storage = { getItem: (key: string) => items.get(key) ?? null, setItem: items.set.bind(items) };
  Object.assign(globalThis, { sessionStorage: storage });
  const seats = [
    { name: 'Bot Ada', identity: { playerId: ME, token: 'token' } },
    { name: 'Bot Max', identity: null },
  ];
  rememberBots('game-1', seats);
  assert.deepEqual(recallBots('game-1'), seats);
  assert.equal(recallBots('game-2'), null);
  for (const text of ['{', '[]', '{"gameId":"game-1"}', '{"gameId":"game-1","seats":3}']) {
    items.set('tidemark.game.bots', text);
    assert.equal(recallBots('game-1'), null, text);
  }
});

test('the drawings of the demo are those that bots draw', () => {
  const path = '../crates/tools/tidemark-cli/src/demo/drawings.json';
  const drawn = ['house', 'cat', 'snowman', 'rainbow', 'cactus', 'umbrella'].map((word) => {
    const drawing = DRAWINGS.find((one) => one.word.en === word)!;
    const batches: unknown[] = [];
    const send = (message: ClientMessage) => message.action === 'save' && batches.push(...message.batches);
    const pen = new Pen('01.01', drawing, send, later);
    pass(120_000);
    pen.finish();
    return JSON.stringify({ word, batches });
  });
  const text = `[\n${drawn.join(',\n')}\n]\n`;
  if (process.env['UPDATE'] === '1') writeFileSync(path, text);
  assert.ok(readFileSync(path, 'utf8') === text, 'they differ: UPDATE=1 npm run test:unit writes them again');
});
