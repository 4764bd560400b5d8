/** Moves the focus for keyboard and screen reader users when the screen changes. */

let arrived = false;

/**
 * Focuses the heading of a new screen, so that a screen reader continues there. The first screen of
 * a page is left out, because reading starts at its top anyway.
 */
export function focusOnArrival(heading: HTMLElement): void {
  if (arrived) heading.focus({ preventScroll: true });
  arrived = true;
}

/**
 * Focuses a field if nothing else has the focus. Not on touch devices, where this would open the
 * on-screen keyboard.
 */
export function focusIfIdle(field: HTMLElement): void {
  const idle = document.activeElement === null || document.activeElement === document.body;
  if (idle && matchMedia('(pointer: fine)').matches) field.focus({ preventScroll: true });
}
