/** Where the keyboard and the screen reader are after the screen has changed. */

let arrived = false;

/** For the heading of a screen: takes the focus, so that reading goes on there. Not on the page's first screen, where it begins by itself. */
export function focusOnArrival(heading: HTMLElement): void {
  if (arrived) heading.focus({ preventScroll: true });
  arrived = true;
}

/** Takes the focus when nothing else has it, on devices where that does not open a keyboard over half the screen. */
export function focusIfIdle(field: HTMLElement): void {
  const idle = document.activeElement === null || document.activeElement === document.body;
  if (idle && matchMedia('(pointer: fine)').matches) field.focus({ preventScroll: true });
}
