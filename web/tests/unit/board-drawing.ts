/** Example drawings for the tests of the board. */
import { encodePoints } from '../../src/game/board/points.ts';
import type { Op } from '../../src/game/board/protocol.ts';

/** Pseudorandom numbers from 0 to 1. */
export function rng(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A random drawing of `count` ops: strokes, fills, and some undos, redos and clears. */
export function randomOps(random: () => number, count: number): Op[] {
  const whole = (max: number): number => Math.floor(random() * max);
  const ops: Op[] = [];
  for (let id = 1; ops.length < count; id++) {
    const kind = random();
    if (kind < 0.15) ops.push({ op: 'fill', id, color: whole(24), at: [whole(1_600), whole(1_200)] });
    else if (kind < 0.2) ops.push({ op: 'clear', id });
    else if (kind < 0.3 && id > 1) ops.push({ op: 'undo', id: 1 + whole(id - 1) });
    else if (kind < 0.35 && id > 1) ops.push({ op: 'redo', id: 1 + whole(id - 1) });
    else {
      let [x, y] = [whole(1_600), whole(1_200)];
      const points = Array.from({ length: 1 + whole(30) }, () => {
        x = Math.min(1_790, Math.max(-190, x + whole(120) - 60));
        y = Math.min(1_390, Math.max(-190, y + whole(120) - 60));
        return { x, y, pressure: whole(101) };
      });
      const tool = random() < 0.2 ? 'eraser' : 'pen';
      const width = 2 + whole(79);
      ops.push({ op: 'stroke', id, color: whole(24), width, tool, points: encodePoints(points), end: random() < 0.9 });
    }
  }
  return ops;
}

/** A small landscape with every kind of stroke and with fills. The browser tests draw it too. */
export function drawing(): Op[] {
  return [
    ...randomOps(rng(2_026), 24).filter(({ op }) => op !== 'clear'),
    { op: 'fill', id: 500, color: 9, at: [800, 20] },
  ];
}
