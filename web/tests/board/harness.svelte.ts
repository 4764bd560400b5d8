/** The page of the board's tests: a drawer, a watcher behind a bad relay, and late joiners. */
import { mount } from 'svelte';
import '../../src/shared/base.css';
import type { Batch, BoardMessage } from '../../src/game/board/protocol.ts';
import { BoardSession } from '../../src/game/board/session.ts';
import { drawing, rng } from '../unit/board-drawing.ts';
import Harness from './Harness.svelte';

const TURN = '01.01';
/** The longest delay of the relay. */
const LATE_MS = 300;

const random = rng(4);
const stored: Batch[] = [];
const log: BoardMessage[] = [];
const props = $state<{
  drawer: BoardSession | null;
  watching: readonly (readonly [name: string, session: BoardSession])[];
  canDraw: boolean;
  replay: readonly Batch[] | null;
}>({ drawer: null, watching: [], canDraw: true, replay: null });

function join(name: string, isDrawer: boolean): BoardSession {
  const session: BoardSession = new BoardSession({
    turnId: TURN,
    isDrawer,
    send: (message) => take(session, message),
  });
  session.connected();
  if (!isDrawer) props.watching = [...props.watching, [name, session]];
  return session;
}

function take(from: BoardSession, message: BoardMessage): void {
  log.push(message);
  if (message.action === 'draw') {
    const { seq, ops } = message;
    for (const [, session] of props.watching) {
      const deliver = () => session.receive({ type: 'ink', turnId: TURN, batches: [{ seq, ops }] });
      setTimeout(deliver, random() * LATE_MS);
      if (random() < 0.3) setTimeout(deliver, random() * LATE_MS);
    }
  } else if (message.action === 'save') {
    stored.push(...message.batches);
  } else {
    const batches = stored.filter(({ seq }) => seq > message.after);
    setTimeout(() => from.receive({ type: 'ink', turnId: TURN, batches, saved: stored.length, last: true }), 0);
  }
}

const drawer = join('drawer', true);
props.drawer = drawer;
join('watching', false);

/** The functions that a test calls. */
Object.assign(globalThis, {
  board: {
    log,
    stored,
    session: drawer,
    /** Adds a late joiner. */
    joinLate: () => void join('late', false),
    /** The ops that every JavaScript engine must draw alike. */
    drawKnown: () => {
      const session = join('known', false);
      session.picture.apply(drawing());
      session.onChange();
    },
    finish: () => {
      props.canDraw = false;
      drawer.finish();
      for (const [, session] of props.watching) session.finish();
    },
    replay: () => (props.replay = [...stored]),
    /** The digest of a board's pixels. */
    pixels: async (name: string) => {
      const canvas = document.querySelector<HTMLCanvasElement>(`[data-board="${name}"] canvas`);
      const { data } = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height) ?? {};
      const hash = await crypto.subtle.digest('SHA-256', data ?? new Uint8Array());
      return Array.from(new Uint8Array(hash).slice(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
    },
  },
});

const target = document.getElementById('app');
if (target) mount(Harness, { target, props });
