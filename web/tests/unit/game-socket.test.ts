import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ANSWER_MAX_MS,
  GameSocket,
  INK_CHECK_MS,
  LEAVE_AGAIN_MS,
  LEAVE_MAX_MS,
  LINE_FAILED_MS,
  PING_MS,
  PONG_MAX_MS,
  SILENCE_MAX_MS,
  UNSENT_LINES_MAX,
  type SocketState,
  type WaitingLine,
} from '../../src/game/socket.ts';
import type { TransportEvents } from '../../src/game/transport.ts';
import { ApiError } from '../../src/shared/api.ts';
import { example, FakeTime } from './game-fakes.ts';

interface Connection {
  readonly ticket: string;
  readonly sent: { action: string; id?: string }[];
  readonly events: TransportEvents;
  closed: boolean;
}

/** A fake server that does nothing by itself. */
class World {
  readonly time = new FakeTime();
  readonly connections: Connection[] = [];
  readonly states: SocketState[] = [];
  readonly received: string[] = [];
  waiting: readonly WaitingLine[] = [];
  tickets = 0;
  refuse: ApiError | null = null;
  readonly socket = new GameSocket({
    ticket: async () => {
      if (this.refuse) throw this.refuse;
      return `ticket-${++this.tickets}`;
    },
    open: (ticket, events) => {
      const connection: Connection = { ticket, sent: [], events, closed: false };
      this.connections.push(connection);
      return {
        send: (text) => connection.sent.push(JSON.parse(text) as { action: string }),
        close: () => (connection.closed = true),
      };
    },
    later: this.time.later,
    random: () => 1,
    onMessage: (message) => this.received.push(message.type),
    onState: (state) => this.states.push(state),
    onUnsent: (lines) => (this.waiting = lines),
  });

  get now(): Connection {
    return this.connections.at(-1)!;
  }
  get unsent(): string[] {
    return this.waiting.map((line) => line.text);
  }
  get failed(): string[] {
    return this.waiting.filter((line) => line.hasFailed).map((line) => line.text);
  }
  get state(): string {
    return this.states.at(-1)!.is;
  }
  get said(): (string | undefined)[] {
    return this.now.sent.filter((message) => message.action === 'say').map((message) => message.id);
  }
  say(name: string): void {
    this.now.events.onText(example(name));
  }
  async welcomed(): Promise<void> {
    await settle();
    this.now.events.onOpen();
    this.say('welcome');
    this.say('chat');
  }
  async start(): Promise<void> {
    this.socket.start();
    await this.welcomed();
  }
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test('it sends hello first, and is live after welcome', async () => {
  const world = new World();
  world.socket.start();
  assert.equal(world.socket.send({ action: 'start' }), false);
  await settle();
  assert.equal(world.now.ticket, 'ticket-1');
  world.now.events.onOpen();
  assert.deepEqual(world.now.sent, [{ action: 'hello', protocol: 1 }]);
  assert.equal(world.state, 'connecting');
  world.say('welcome');
  assert.equal(world.state, 'live');
  assert.equal(world.socket.send({ action: 'start' }), true);
});

test('it pings every four minutes', async () => {
  const world = new World();
  await world.start();
  for (let i = 0; i < 3; i++) {
    world.time.pass(PING_MS);
    world.say('pong');
  }
  assert.equal(world.now.sent.filter((message) => message.action === 'ping').length, 3);
  assert.equal(world.connections.length, 1);
});

test('a silent connection is dropped, and the next one uses a new ticket', async () => {
  const world = new World();
  await world.start();
  world.time.pass(PING_MS + SILENCE_MAX_MS);
  assert.equal(world.state, 'reconnecting');
  assert.equal(world.connections[0]!.closed, true);
  world.time.pass(500);
  await world.welcomed();
  assert.equal(world.now.ticket, 'ticket-2');
  assert.equal(world.state, 'live');
});

test('a connection without a welcome is dropped', async () => {
  const world = new World();
  world.socket.start();
  await settle();
  world.now.events.onOpen();
  world.time.pass(SILENCE_MAX_MS);
  assert.equal(world.state, 'reconnecting');
});

test('a refused hello is sent again in a new connection', async () => {
  const world = new World();
  world.socket.start();
  await settle();
  world.now.events.onOpen();
  world.now.events.onText(
    '{"type":"error","error":{"type":"urn:tidemark:problem:busy","title":"Busy"},"action":"hello"}',
  );
  assert.equal(world.state, 'reconnecting');
  world.time.pass(500);
  await world.welcomed();
  assert.equal(world.state, 'live');
});

test('the backoff grows up to fifteen seconds, and restarts after a welcome', async () => {
  const world = new World();
  await world.start();
  const pauses: number[] = [];
  for (let i = 0; i < 8; i++) {
    const before = world.connections.length;
    world.now.events.onClose();
    let waited = 0;
    while (world.connections.length === before && waited < 60_000) {
      world.time.pass(250);
      waited += 250;
      await settle();
    }
    pauses.push(waited);
  }
  assert.deepEqual(pauses, [500, 1000, 2000, 4000, 8000, 15000, 15000, 15000]);
  await world.welcomed();
  world.now.events.onClose();
  world.time.pass(500);
  await settle();
  assert.equal(world.connections.length, 10);
});

test('waking ends the backoff', async () => {
  const world = new World();
  world.refuse = new ApiError(null);
  world.socket.start();
  await settle();
  assert.equal(world.state, 'reconnecting');
  world.refuse = null;
  world.socket.wake();
  await world.welcomed();
  assert.equal(world.state, 'live');
  world.time.pass(60_000);
  assert.equal(world.connections.length, 1);
});

test('waking while it is live sends a ping', async () => {
  const world = new World();
  await world.start();
  world.socket.wake();
  assert.equal(world.now.sent.at(-1)?.action, 'ping');
  world.time.pass(SILENCE_MAX_MS);
  assert.equal(world.state, 'reconnecting');
});

test('a permanently refused ticket ends the connection with the reason', async () => {
  const world = new World();
  world.refuse = new ApiError({
    type: 'urn:tidemark:problem:game-not-found',
    title: 'No such game',
    status: 404,
    detail: null,
    members: {},
  });
  world.socket.start();
  await settle();
  const state = world.states.at(-1);
  assert.ok(state?.is === 'ended' && state.why === 'refused');
  assert.equal(state.error, world.refuse);
  world.time.pass(60_000);
  await settle();
  assert.equal(world.connections.length, 0);
});

for (const farewell of ['replaced', 'kicked'] as const) {
  test(`who is ${farewell} does not come back`, async () => {
    const world = new World();
    await world.start();
    world.say(farewell);
    world.now.events.onClose();
    world.socket.wake();
    world.time.pass(60_000);
    await settle();
    assert.deepEqual(world.states.at(-1), { is: 'ended', why: farewell });
    assert.equal(world.connections.length, 1);
  });
}

test('a line without a connection is sent after the next welcome', async () => {
  const world = new World();
  world.socket.start();
  world.socket.say('line-1', 'ねこ');
  await world.welcomed();
  assert.deepEqual(world.said, ['line-1']);
});

test('an unacknowledged line is sent once more, and never a third time', async () => {
  const world = new World();
  await world.start();
  world.socket.say('line-1', 'ねこ');
  const counts: number[] = [];
  for (let i = 0; i < 3; i++) {
    counts.push(world.said.length);
    world.now.events.onClose();
    world.time.pass(15_000);
    await world.welcomed();
  }
  assert.deepEqual([...counts, world.said.length], [1, 1, 0, 0]);
});

test('a line that a living connection swallows fails, and can be sent again or discarded', async () => {
  const world = new World();
  await world.start();
  world.socket.say('line-1', 'ねこ');
  world.time.pass(LINE_FAILED_MS / 2);
  world.say('pong');
  assert.deepEqual([world.unsent, world.failed], [['ねこ'], []]);
  world.time.pass(LINE_FAILED_MS / 2);
  assert.deepEqual(world.failed, ['ねこ']);
  world.socket.sayAgain('line-1');
  assert.deepEqual([world.unsent, world.failed, world.said], [['ねこ'], [], ['line-1', 'line-1']]);
  world.time.pass(ANSWER_MAX_MS);
  world.say('pong');
  world.time.pass(LINE_FAILED_MS - ANSWER_MAX_MS);
  assert.deepEqual(world.failed, ['ねこ']);
  world.socket.discard('line-1');
  assert.deepEqual(world.unsent, []);
});

test('a line that was sent twice over lost connections fails', async () => {
  const world = new World();
  await world.start();
  world.socket.say('line-1', 'ねこ');
  world.now.events.onClose();
  world.time.pass(LINE_FAILED_MS);
  await settle();
  assert.deepEqual(world.failed, [], 'it waits for the next connection');
  await world.welcomed();
  world.now.events.onClose();
  world.time.pass(LINE_FAILED_MS);
  assert.deepEqual(world.failed, ['ねこ']);
});

test('a line that is in the chat history is not sent again', async () => {
  const world = new World();
  await world.start();
  // The id of a line in the example of `chat`.
  const { lines } = JSON.parse(example('chat')) as { lines: { id: string }[] };
  world.socket.say(lines[2]!.id, 'にんじん');
  world.now.events.onClose();
  world.time.pass(500);
  await world.welcomed();
  assert.deepEqual(world.said, []);
});

test('a line looks unsent after a second without an answer', async () => {
  const world = new World();
  await world.start();
  const { lines } = JSON.parse(example('chat')) as { lines: { id: string }[] };
  world.socket.say(lines[2]!.id, 'にんじん');
  assert.deepEqual(world.unsent, []);
  world.time.pass(ANSWER_MAX_MS);
  assert.deepEqual(world.unsent, ['にんじん']);
  world.say('chat');
  assert.deepEqual(world.unsent, []);
});

test('a line that comes with a change of the room is like any other', async () => {
  const world = new World();
  await world.start();
  const name = 'room-drawing-guesser';
  const { lines } = JSON.parse(example(name)) as { lines: { id: string }[] };
  world.socket.say(lines[0]!.id, 'にんじん');
  world.time.pass(ANSWER_MAX_MS);
  assert.deepEqual(world.unsent, ['にんじん']);
  world.say(name);
  assert.deepEqual(world.unsent, []);
  assert.deepEqual(world.received.slice(-2), ['room', 'chat']);
});

for (const [what, message, waitMs] of [
  ['a line', null, ANSWER_MAX_MS],
  ['a drawing', { action: 'draw', turnId: '01.01', seq: 1, ops: [] }, INK_CHECK_MS],
  ['an action', { action: 'start' }, ANSWER_MAX_MS],
] as const) {
  test(`${what} finds a dead connection within seconds`, async () => {
    const world = new World();
    await world.start();
    if (message === null) world.socket.say('line-1', 'ねこ');
    else world.socket.send(message);
    world.time.pass(waitMs);
    assert.equal(world.now.sent.at(-1)?.action, 'ping');
    assert.equal(world.state, 'live');
    world.time.pass(PONG_MAX_MS);
    assert.equal(world.state, 'reconnecting');
  });
}

test('an answer within a second saves the ping', async () => {
  const world = new World();
  await world.start();
  world.socket.send({ action: 'start' });
  world.say('room-drawing-guesser');
  world.time.pass(SILENCE_MAX_MS);
  assert.deepEqual(
    world.now.sent.map(({ action }) => action),
    ['hello', 'start'],
  );
});

test('a lost network is seen at once, and lines wait for it', async () => {
  const world = new World();
  await world.start();
  world.socket.interrupt();
  assert.equal(world.state, 'reconnecting');
  world.socket.say('line-1', 'ねこ');
  assert.deepEqual(world.unsent, ['ねこ']);
  world.socket.wake();
  await world.welcomed();
  assert.deepEqual(world.said, ['line-1']);
});

test('near and error acknowledge a line too', async () => {
  const world = new World();
  await world.start();
  for (const name of ['near', 'error']) {
    const { id } = JSON.parse(example(name)) as { id: string };
    world.socket.say(id, 'えんびつ');
    world.say(name);
  }
  world.now.events.onClose();
  world.time.pass(500);
  await world.welcomed();
  assert.deepEqual(world.said, []);
});

test('without a chat history the lines are sent after a moment', async () => {
  const world = new World();
  world.socket.start();
  world.socket.say('line-1', 'ねこ');
  await settle();
  world.now.events.onOpen();
  world.say('welcome');
  assert.deepEqual(world.said, []);
  world.time.pass(3_000);
  assert.deepEqual(world.said, ['line-1']);
});

test('the number of waiting lines is limited, and the newest stay', async () => {
  const world = new World();
  world.socket.start();
  for (let i = 0; i < UNSENT_LINES_MAX + 5; i++) world.socket.say(`line-${i}`, 'ねこ');
  await world.welcomed();
  assert.equal(world.said.length, 1, 'one line at a time');
  for (let i = 0; i < UNSENT_LINES_MAX; i++) {
    world.time.pass(ANSWER_MAX_MS - 1);
    world.say('pong');
    world.time.pass(1);
  }
  assert.equal(world.said.length, UNSENT_LINES_MAX);
  assert.equal(world.said.at(-1), `line-${UNSENT_LINES_MAX + 4}`);
});

test('events of an abandoned connection are ignored', async () => {
  const world = new World();
  await world.start();
  const old = world.now;
  old.events.onClose();
  world.time.pass(500);
  await world.welcomed();
  const heard = world.received.length;
  old.events.onText(example('pong'));
  old.events.onClose();
  assert.equal(world.received.length, heard);
  assert.equal(world.state, 'live');
});

test('leaving sends leave, and the server closes the connection', async () => {
  const world = new World();
  await world.start();
  world.socket.leave();
  world.socket.close();
  assert.deepEqual(world.states.at(-1), { is: 'ended', why: 'left' });
  assert.equal(world.now.sent.at(-1)?.action, 'leave');
  assert.equal(world.now.closed, false);
  world.now.events.onClose();
  assert.equal(world.connections.length, 1);
  world.time.pass(LEAVE_MAX_MS);
  assert.equal(world.time.pending, 0);
});

test('a leave during a reconnect is sent once the connection is back', async () => {
  const world = new World();
  await world.start();
  world.now.events.onClose();
  world.socket.leave();
  assert.deepEqual(world.states.at(-1), { is: 'ended', why: 'left' });
  const told = [world.states.length, world.received.length];
  world.time.pass(500);
  await world.welcomed();
  world.time.pass(0);
  assert.deepEqual(
    world.now.sent.map(({ action }) => action),
    ['hello', 'leave'],
  );
  world.now.events.onClose();
  assert.equal(world.connections.length, 2);
  assert.deepEqual([world.states.length, world.received.length], told);
});

test('a refused leave, and one without an answer, are sent again', async () => {
  const world = new World();
  await world.start();
  world.socket.leave();
  const refused = JSON.parse(example('error')) as object;
  world.now.events.onText(JSON.stringify({ ...refused, action: 'leave', id: null }));
  world.time.pass(LEAVE_AGAIN_MS);
  const leaves = () => world.now.sent.filter(({ action }) => action === 'leave').length;
  assert.equal(leaves(), 2);
  world.time.pass(ANSWER_MAX_MS + PONG_MAX_MS + 500);
  await world.welcomed();
  world.time.pass(0);
  assert.deepEqual([world.connections.length, leaves()], [2, 1]);
  // Whoever joins again takes the leave back.
  world.socket.abandon();
  world.time.pass(LEAVE_MAX_MS);
  assert.deepEqual([world.connections.length, leaves(), world.now.closed], [2, 1, true]);
});

test('a leave that the server never hears of is given up', async () => {
  const world = new World();
  await world.start();
  world.now.events.onClose();
  world.socket.leave();
  world.refuse = new ApiError(null);
  for (let tried = 0; tried < 20; tried++) {
    world.time.pass(LEAVE_MAX_MS / 20);
    await settle();
  }
  assert.equal(world.time.pending, 0);
});

test('a line that was too fast waits to be sent again', async () => {
  const world = new World();
  await world.start();
  world.socket.say('line-1', 'ねこ');
  world.socket.say('line-2', 'いぬ');
  const refused = JSON.parse(example('error')) as { error: object };
  const error = { ...refused.error, type: 'urn:tidemark:problem:too-fast' };
  world.now.events.onText(JSON.stringify({ ...refused, error, id: 'line-1' }));
  assert.deepEqual([world.failed, world.said], [['ねこ'], ['line-1', 'line-2']]);
  world.socket.sayAgain('line-1');
  assert.deepEqual(world.failed, []);
});
