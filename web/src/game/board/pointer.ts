/**
 * Mouse, finger and pen on the board.
 *
 * The first pointer draws. A second finger means that the hand wants something else: the stroke is taken back and nothing is drawn until
 * all fingers are up. A pen comes before fingers, so that the palm beside it does no harm.
 */
import type { Point } from './brush.ts';
import { BOARD_HEIGHT, BOARD_WIDTH, PRESSURE_NONE } from './protocol.ts';

/** How much of the way to the pointer the stroke goes with each event: takes the tremor out of mouse and finger. */
const FOLLOW = 0.65;
/** `PointerEvent.buttons` of a pen that is held the other way round. */
const ERASER_BUTTON = 32;

export interface PointerSink {
  begin(at: Point, isPenEraser: boolean): void;
  extend(points: readonly Point[], guess: readonly Point[]): void;
  end(): void;
  cancel(): void;
  /** Where the tip is, in pixels of the page, relative to the board; `null` when it is elsewhere or a finger. */
  hover(at: { readonly x: number; readonly y: number } | null): void;
}

/** Listens until the function that it gives is called. */
export function listenToPointers(canvas: HTMLCanvasElement, sink: PointerSink): () => void {
  const fingers = new Set<number>();
  /** The pointer that draws. */
  let active: { readonly id: number; readonly type: string; at: Point } | null = null;
  /** A second finger was there: waits until all are up. */
  let isBlocked = false;

  const place = (event: PointerEvent): Point => {
    // Measured each time: scrolling and pinching move the board under the pointer.
    const box = canvas.getBoundingClientRect();
    return {
      x: ((event.clientX - box.left) / box.width) * BOARD_WIDTH,
      y: ((event.clientY - box.top) / box.height) * BOARD_HEIGHT,
      pressure: event.pointerType === 'pen' && event.pressure > 0 ? event.pressure * 100 : PRESSURE_NONE,
    };
  };

  const followed = (from: Point, to: Point): Point => {
    if (active?.type === 'pen') return to;
    return { x: from.x + (to.x - from.x) * FOLLOW, y: from.y + (to.y - from.y) * FOLLOW, pressure: to.pressure };
  };

  const onHover = (event: PointerEvent): void => {
    const box = canvas.getBoundingClientRect();
    sink.hover(event.pointerType === 'touch' ? null : { x: event.clientX - box.left, y: event.clientY - box.top });
  };

  const onDown = (event: PointerEvent): void => {
    if (event.pointerType === 'touch') {
      fingers.add(event.pointerId);
      if (active?.type === 'pen') return;
      if (fingers.size > 1) isBlocked = true;
    }
    if (active !== null && (isBlocked || event.pointerType === 'pen')) {
      sink.cancel();
      active = null;
    }
    const isTip = event.button === 0 || (event.buttons & ERASER_BUTTON) !== 0;
    if (active !== null || !isTip || (isBlocked && event.pointerType === 'touch')) return;
    canvas.setPointerCapture(event.pointerId);
    const at = place(event);
    active = { id: event.pointerId, type: event.pointerType, at };
    sink.begin(at, (event.buttons & ERASER_BUTTON) !== 0);
  };

  const onMove = (event: PointerEvent): void => {
    onHover(event);
    if (active?.id !== event.pointerId) return;
    const points: Point[] = [];
    // Not every browser knows them; an event that stands for itself has none.
    const coalesced = event.getCoalescedEvents?.() ?? [];
    for (const part of coalesced.length > 0 ? coalesced : [event]) {
      active.at = followed(active.at, place(part));
      points.push(active.at);
    }
    const guess = (event.getPredictedEvents?.() ?? []).map(place);
    sink.extend(points, [place(event), ...guess]);
  };

  const onUp = (event: PointerEvent): void => {
    fingers.delete(event.pointerId);
    if (fingers.size === 0) isBlocked = false;
    if (active?.id !== event.pointerId) return;
    if (event.type === 'pointerup') sink.extend([place(event)], []);
    active = null;
    sink.end();
  };

  const onLeave = (): void => sink.hover(null);
  // Scribble on iPadOS takes short strokes for handwriting unless the touch is refused to it.
  const onTouchMove = (event: TouchEvent): void => event.preventDefault();
  // A finger that rests for a moment wants no menu.
  const onMenu = (event: Event): void => {
    if (active !== null) event.preventDefault();
  };

  const listeners: readonly (readonly [string, (event: never) => void])[] = [
    ['pointerdown', onDown],
    ['pointermove', onMove],
    ['pointerup', onUp],
    ['pointercancel', onUp],
    ['pointerleave', onLeave],
    ['touchmove', onTouchMove],
    ['contextmenu', onMenu],
  ];
  for (const [type, listener] of listeners) {
    canvas.addEventListener(type, listener as EventListener, { passive: false });
  }
  return () => {
    if (active !== null) sink.end();
    for (const [type, listener] of listeners) canvas.removeEventListener(type, listener as EventListener);
  };
}
