/** The drawing of a turn between the drawer, the relay, the store, watchers and late joiners. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import type { Brush } from '../../src/game/board/outgoing.ts';
import { PALETTE } from '../../src/game/board/palette.ts';
import { decodePoints } from '../../src/game/board/points.ts';
import {
  BATCH_OPS_MAX,
  BATCH_POINTS_MAX,
  BOARD_HEIGHT,
  BOARD_WIDTH,
  CHUNK_BATCHES_MAX,
  INK_BUDGET,
  inkOf,
  type Batch,
  type BoardMessage,
  type Op,
} from '../../src/game/board/protocol.ts';
import { screenColours, WHOLE } from '../../src/game/board/raster.ts';
import { BoardSession } from '../../src/game/board/session.ts';
import { rng } from './board-drawing.ts';

const TURN = '02.01';
const STEP_MS = 20;
const PEN: Brush = { tool: 'pen', colour: 12, width: 10 };
const COLOURS = screenColours(PALETTE.map(({ hex }) => hex));

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
afterEach(() => {
  mock.timers.reset();
  Reflect.deleteProperty(globalThis, 'sessionStorage');
});

/** Advances the fake clock in small steps, so that timers set by timers run too. */
function pass(ms: number): void {
  mock.timers.tick(ms % STEP_MS);
  for (let step = 0; step < Math.floor(ms / STEP_MS); step++) mock.timers.tick(STEP_MS);
}

function pixels(session: BoardSession): Buffer {
  session.showAll();
  const image = new Uint32Array(BOARD_WIDTH * BOARD_HEIGHT);
  session.picture.copyTo(image, WHOLE, COLOURS);
  return Buffer.from(image.buffer);
}

/** A fake of the functions and the table. */
class Server {
  readonly chunks = new Map<number, readonly Batch[]>();
  readonly log: BoardMessage[] = [];
  readonly watching: BoardSession[] = [];
  /** Whether a message arrives. */
  fate: (message: BoardMessage) => 'arrives' | 'lost' = () => 'arrives';
  /** How the relay changes the delivery of a batch. */
  relay: (deliver: () => void) => void = (deliver) => deliver();

  join(isDrawer: boolean, keepAs?: string): BoardSession {
    const session: BoardSession = new BoardSession({
      turnId: TURN,
      isDrawer,
      send: (message) => this.#take(session, message),
      ...(keepAs === undefined ? {} : { keepAs }),
    });
    if (!isDrawer) this.watching.push(session);
    session.connected();
    pass(0);
    return session;
  }

  sent(action: BoardMessage['action']): BoardMessage[] {
    return this.log.filter((message) => message.action === action);
  }

  #take(from: BoardSession, message: BoardMessage): void {
    // Serialised as over a socket.
    const read = JSON.parse(JSON.stringify(message)) as BoardMessage;
    assert.ok(JSON.stringify(message).length < 32_768);
    this.log.push(read);
    if (this.fate(read) === 'lost') return;
    if (read.action === 'draw') {
      const { seq, ops } = read;
      for (const session of this.watching) {
        this.relay(() => session.receive({ type: 'ink', turnId: TURN, batches: [{ seq, ops }] }));
      }
    } else if (read.action === 'save') {
      if (!this.chunks.has(read.chunk)) this.chunks.set(read.chunk, read.batches);
    } else {
      setTimeout(() => this.#answer(from, read.after), 0);
    }
  }

  #answer(to: BoardSession, after: number): void {
    const stored = [...this.chunks].sort(([a], [b]) => a - b).flatMap(([, batches]) => batches);
    const saved = Math.max(0, ...stored.map(({ seq }) => seq));
    const asked = stored.filter(({ seq }) => seq > after);
    const middle = Math.ceil(asked.length / 2);
    to.receive({ type: 'ink', turnId: TURN, batches: asked.slice(0, middle), saved });
    to.receive({ type: 'ink', turnId: TURN, batches: asked.slice(middle), saved, last: true });
  }
}

/** Draws for a while like a hand, while the clock advances. */
function scribble(session: BoardSession, random: () => number, strokes: number): void {
  for (let stroke = 0; stroke < strokes; stroke++) {
    const place = () => ({ x: random() * 1_700 - 50, y: random() * 1_300 - 50, pressure: random() * 100 });
    let at = place();
    const kind = random();
    if (kind < 0.1) session.fill(Math.floor(random() * 24), at);
    else if (kind < 0.2) session.undo();
    else if (kind < 0.25) session.redo();
    else if (kind < 0.28) session.clear();
    else {
      session.begin({ ...PEN, colour: Math.floor(random() * 24), width: 2 + Math.floor(random() * 78) }, at);
      for (let moves = random() * 20; moves > 0; moves--) {
        const points = [0, 1, 2].map(() => {
          at = { x: at.x + random() * 40 - 20, y: at.y + random() * 40 - 20, pressure: 50 };
          return at;
        });
        session.extend(points, [at]);
        pass(16);
      }
      if (random() < 0.1) session.cancel();
      else session.end();
    }
    pass(100);
  }
}

test('the drawer, watchers and late joiners see the same over a relay that reorders, duplicates and loses', () => {
  const random = rng(11);
  const server = new Server();
  server.relay = (deliver) => {
    const luck = random();
    if (luck < 0.1) return;
    setTimeout(deliver, random() * 400);
    if (luck > 0.8) setTimeout(deliver, random() * 900);
  };
  const drawer = server.join(true);
  const watching = server.join(false);
  scribble(drawer, random, 20);
  const joinedMidway = server.join(false);
  scribble(drawer, random, 10);
  drawer.finish();
  watching.finish();
  joinedMidway.finish();
  pass(20_000);
  const late = server.join(false);

  const drawn = pixels(drawer);
  for (const session of [watching, joinedMidway, late]) assert.ok(pixels(session).equals(drawn));
});

test('batches and chunks keep to the limits and the timing of the protocol', () => {
  const server = new Server();
  const drawer = server.join(true);
  drawer.begin(PEN, { x: 0, y: 0, pressure: 50 });
  // The page hangs for a second while the mouse moves on.
  const zigzag = Array.from({ length: 1_500 }, (_, step) => ({ x: step, y: (step % 2) * 300, pressure: 50 }));
  drawer.extend(zigzag, []);
  drawer.end();
  for (let step = 0; step < 80; step++) drawer.fill(step % 24, { x: step, y: step, pressure: 50 });
  pass(3_000);
  const drawn = server.log.filter((message) => message.action === 'draw');
  assert.deepEqual(
    drawn.map(({ seq }) => seq),
    drawn.map((_, index) => index + 1),
  );
  for (const { ops } of drawn) {
    assert.ok(ops.length <= BATCH_OPS_MAX);
    const points = ops.reduce((sum, op) => sum + (op.op === 'stroke' ? op.points.length / 3 : 0), 0);
    assert.ok(points <= BATCH_POINTS_MAX, `${points} points`);
    for (const op of ops) {
      if (op.op !== 'stroke') continue;
      for (const { x, y } of decodePoints(op.points)) {
        assert.ok(Number.isInteger(x) && x >= -200 && x <= 1_800 && y >= -200 && y <= 1_400, `${x}, ${y}`);
      }
    }
  }
  const saved = server.log.filter((message) => message.action === 'save');
  assert.deepEqual(
    saved.map(({ chunk }) => chunk),
    saved.map((_, index) => index + 1),
  );
  assert.ok(saved.every(({ batches }) => batches.length <= CHUNK_BATCHES_MAX));
  assert.deepEqual(
    saved.flatMap(({ batches }) => batches.map(({ seq }) => seq)),
    drawn.map(({ seq }) => seq),
  );
});

test('the first point is sent at once, a steady stroke every 750 milliseconds', () => {
  const server = new Server();
  const drawer = server.join(true);
  drawer.begin(PEN, { x: 100, y: 100, pressure: 50 });
  assert.deepEqual(
    server.sent('draw').map((draw) => draw.action === 'draw' && draw.ops.length),
    [1],
  );
  for (let frame = 0; frame < 120; frame++) {
    drawer.extend([{ x: 100 + frame * 10, y: 100 + 90 * Math.sin(frame / 9), pressure: 50 }], []);
    pass(1_000 / 60);
  }
  assert.equal(server.sent('draw').length, 3);
  assert.ok(server.sent('save').length <= 2);
});

test('quick dots wait for a batch, so that they cost no more messages than a stroke', () => {
  const server = new Server();
  const drawer = server.join(true);
  for (let dot = 0; dot < 40; dot++) {
    drawer.begin(PEN, { x: 20 * dot, y: 600, pressure: 50 });
    drawer.end();
    pass(40);
  }
  assert.ok(server.sent('draw').length <= 14, `${server.sent('draw').length}`);
});

test('the first point of a stroke is on other screens at the next frame', () => {
  const server = new Server();
  const drawer = server.join(true);
  const watching = server.join(false);
  watching.picture.takeDirty();
  drawer.begin(PEN, { x: 100, y: 100, pressure: 50 });
  watching.advance(1);
  const { left, right } = watching.picture.takeDirty();
  assert.ok(left < right);
});

test('a new stroke is on other screens soon, while the one before is still played there', () => {
  const server = new Server();
  const drawer = server.join(true);
  const watching = server.join(false);
  drawer.begin(PEN, { x: 100, y: 100, pressure: 50 });
  for (let frame = 0; frame < 48; frame++) {
    drawer.extend([{ x: 100 + frame * 20, y: 100 + 90 * Math.sin(frame / 9), pressure: 50 }], []);
    pass(1_000 / 60);
    watching.advance(1_000 / 60);
  }
  assert.ok(!pixels(watching).equals(pixels(drawer)));
  drawer.end();
  drawer.begin(PEN, { x: 900, y: 900, pressure: 50 });
  pass(100);
  for (let frame = 0; frame < 10; frame++) watching.advance(1_000 / 60);
  assert.ok(pixels(watching).equals(pixels(drawer)));
});

test('strokes drawn offline are stored after the reconnect, and everybody gets them', () => {
  const random = rng(23);
  const server = new Server();
  const drawer = server.join(true);
  const watching = server.join(false);
  scribble(drawer, random, 4);
  server.fate = () => 'lost';
  for (let dot = 0; dot < 80; dot++) {
    drawer.begin(PEN, { x: 20 * dot, y: 600, pressure: 50 });
    drawer.end();
    pass(400);
  }
  pass(1_000);
  server.fate = () => 'arrives';
  const before = server.log.length;
  drawer.connected();
  pass(0);
  // In portions, because the server drops messages of a connection that sends too much.
  assert.ok(server.log.length - before <= 15, `${server.log.length - before} messages`);
  pass(60_000);
  assert.ok(pixels(watching).equals(pixels(drawer)));
  assert.ok(pixels(server.join(false)).equals(pixels(drawer)));
});

test('requests to a server that stores nothing end', () => {
  const server = new Server();
  server.fate = ({ action }) => (action === 'save' ? 'lost' : 'arrives');
  const drawer = server.join(true);
  scribble(drawer, rng(5), 30);
  drawer.connected();
  pass(60_000);
  assert.ok(server.sent('catch-up').length <= 4, `${server.sent('catch-up').length}`);
});

test('a drawer continues the drawing after a reload', () => {
  const kept = new Map<string, string>();
  Object.defineProperty(globalThis, 'sessionStorage', {
    configurable: true,
    value: {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, text: string) => kept.set(key, text),
    },
  });
  const random = rng(31);
  const server = new Server();
  const first = server.join(true, 'board');
  const watching = server.join(false);
  scribble(first, random, 6);
  first.begin(PEN, { x: 10, y: 10, pressure: 50 });
  first.extend([{ x: 700, y: 700, pressure: 50 }], []);
  // Sent, but not saved yet when the page is closed.
  pass(800);
  first.dispose();

  const second = server.join(true, 'board');
  assert.ok(second.isReady);
  assert.ok(pixels(second).equals(pixels(first)));
  scribble(second, random, 6);
  pass(5_000);
  assert.ok(pixels(watching).equals(pixels(second)));
  // The chunk numbers have no gap.
  assert.deepEqual(
    [...server.chunks.keys()],
    [...server.chunks.keys()].map((_, index) => index + 1),
  );
  assert.ok(pixels(server.join(false)).equals(pixels(second)));
});

test('nothing can be drawn before the drawing is loaded, nor after its end', () => {
  const server = new Server();
  server.fate = () => 'lost';
  const drawer = server.join(true);
  drawer.begin(PEN, { x: 1, y: 1, pressure: 50 });
  drawer.end();
  assert.equal(drawer.canUndo, false);
  server.fate = () => 'arrives';
  pass(2_000);
  assert.ok(drawer.isReady);
  drawer.begin(PEN, { x: 1, y: 1, pressure: 50 });
  drawer.finish();
  drawer.begin(PEN, { x: 900, y: 900, pressure: 50 });
  pass(2_000);
  assert.equal(server.sent('draw').length, 1);
  assert.equal(server.sent('save').length, 1);
});

test('a gap is requested after half a second and again, but not when it closes by itself', () => {
  const asked: number[] = [];
  const session = new BoardSession({
    turnId: TURN,
    isDrawer: false,
    send: (message) => message.action === 'catch-up' && asked.push(message.after),
  });
  const ink = (...seqs: number[]) => {
    const ops: Op[] = [];
    session.receive({ type: 'ink', turnId: TURN, batches: seqs.map((seq) => ({ seq, ops })) });
  };
  ink(1, 3);
  pass(400);
  ink(2, 5);
  pass(400);
  assert.deepEqual(asked, []);
  pass(100);
  assert.deepEqual(asked, [3]);
  ink(6);
  pass(1_000);
  assert.deepEqual(asked, [3, 3]);
  ink(4);
  // Known batches open no gap.
  ink(2, 6);
  pass(60_000);
  assert.deepEqual(asked, [3, 3]);
  session.receive({ type: 'ink', turnId: '01.01', batches: [{ seq: 9, ops: [] }] });
  pass(60_000);
  assert.deepEqual(asked, [3, 3]);
});

test('the ink of a turn ends before the drawing is too large to store, with a reserve for undo', () => {
  const server = new Server();
  const drawer = server.join(true);
  for (let round = 0; drawer.hasInk; round++) {
    assert.ok(round < 500, 'the ink does not run out');
    drawer.begin(PEN, { x: 0, y: 0, pressure: 50 });
    drawer.extend(
      Array.from({ length: 300 }, (_, step) => ({ x: step, y: (step % 2) * 9, pressure: 50 })),
      [],
    );
    drawer.end();
    pass(200);
  }
  const id = drawer.picture.lastId;
  drawer.begin(PEN, { x: 0, y: 0, pressure: 50 });
  drawer.fill(4, { x: 0, y: 0, pressure: 50 });
  assert.equal(drawer.picture.lastId, id);
  drawer.undo();
  pass(2_000);
  const ops = server.log.flatMap((message) => (message.action === 'draw' ? message.ops : []));
  assert.equal(ops.at(-1)?.op, 'undo');
  const taken = ops.reduce((sum, op) => sum + inkOf(op), 0);
  assert.ok(taken > 65_000 && taken <= INK_BUDGET, `${taken}`);
});

test('undo removes the newest item, redo restores the newest undone one, and a new stroke clears redo', () => {
  const server = new Server();
  const drawer = server.join(true);
  const dot = (x: number) => {
    drawer.begin(PEN, { x, y: 500, pressure: 50 });
    drawer.end();
  };
  dot(100);
  dot(200);
  const two = pixels(drawer);
  dot(300);
  drawer.undo();
  assert.ok(pixels(drawer).equals(two));
  drawer.undo();
  assert.ok(drawer.canRedo);
  drawer.redo();
  assert.ok(pixels(drawer).equals(two));
  dot(400);
  assert.equal(drawer.canRedo, false);
  drawer.undo();
  assert.ok(pixels(drawer).equals(two));
});
