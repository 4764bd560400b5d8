/**
 * Mouse, touch and pen input on the board.
 *
 * The first pointer draws. A second finger means that the user wants to scroll or zoom: the stroke
 * is discarded, and nothing is drawn until all fingers are up. A pen has priority over fingers, so
 * that the palm of the hand does not draw.
 */
import type { Point } from './brush.ts';
import { BOARD_HEIGHT, BOARD_WIDTH, PRESSURE_NONE } from './protocol.ts';

/**
 * The share of a short way to the pointer that the stroke moves with each event. It smooths the
 * tremor of mouse and finger.
 */
const FOLLOW = 0.65;
/** From this distance on, in units, the stroke follows at once: it would cut a fast corner. */
const FAST = 24;
/** The bit of `PointerEvent.buttons` for the eraser end of a pen. */
const ERASER_BUTTON = 32;

export interface PointerSink {
  begin(at: Point, isPenEraser: boolean): void;
  extend(points: readonly Point[], guess: readonly Point[]): void;
  end(): void;
  cancel(): void;
  /**
   * The position of the pointer in CSS pixels relative to the board. `null` outside of the board
   * and for fingers.
   */
  hover(at: { readonly x: number; readonly y: number } | null): void;
}

/** Where a stroke at `from` goes when a mouse or a finger is at `to`. */
export function followed(from: Point, to: Point): Point {
  const [x, y] = [to.x - from.x, to.y - from.y];
  const share = FOLLOW + (1 - FOLLOW) * Math.min(1, Math.hypot(x, y) / FAST);
  return { x: from.x + x * share, y: from.y + y * share, pressure: to.pressure };
}

/** Adds the listeners. The returned function removes them. */
export function listenToPointers(canvas: HTMLCanvasElement, sink: PointerSink): () => void {
  const fingers = new Set<number>();
  /** The pointer that is drawing. */
  let active: { readonly id: number; readonly type: string; at: Point } | null = null;
  /** Whether a second finger was down. Drawing stays blocked until all fingers are up. */
  let isBlocked = false;

  const place = (event: PointerEvent): Point => {
    // Measured for each event, because scrolling and zooming move the board.
    const box = canvas.getBoundingClientRect();
    return {
      x: ((event.clientX - box.left) / box.width) * BOARD_WIDTH,
      y: ((event.clientY - box.top) / box.height) * BOARD_HEIGHT,
      pressure: event.pointerType === 'pen' && event.pressure > 0 ? event.pressure * 100 : PRESSURE_NONE,
    };
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
    // Not every browser supports coalesced events, and a single event may have none.
    const coalesced = event.getCoalescedEvents?.() ?? [];
    for (const part of coalesced.length > 0 ? coalesced : [event]) {
      const at = place(part);
      active.at = active.type === 'pen' ? at : followed(active.at, at);
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
  // Scribble on iPadOS treats short strokes as handwriting unless `touchmove` is cancelled.
  const onTouchMove = (event: TouchEvent): void => event.preventDefault();
  // A long press must not open the context menu while drawing.
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
