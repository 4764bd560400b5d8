/** Moves the focus for keyboard and screen reader users when the screen changes. */

const CONTROLS = 'a[href], button, input, select, textarea, summary, [tabindex]';

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

/**
 * Keeps the focus of keyboard users near a control that disappears: on the control that led to it,
 * such as the "Edit" of a form that is closed, or else on the next one in the same row, list or
 * section. A control that was disabled or moved gets its focus back. Returns how to stop.
 */
export function keepFocus(): () => void {
  let focused: HTMLElement | null = null;
  let parts: readonly HTMLElement[] = [];
  let before: readonly HTMLElement[] = [];
  /** The name of the control that led to the focused one. */
  let opener = '';
  let pressed: EventTarget | null = null;
  /** The last two clicks, each with the controls that it found. */
  let clicks: readonly { control: Element | null; found: readonly HTMLElement[] }[] = [];

  function remember({ target }: FocusEvent): void {
    // After a click or a tap, the focus is where the pointer is.
    focused = target instanceof HTMLElement && target.matches(':focus-visible') ? target : null;
    if (focused === null) return;
    parts = partsAround(focused);
    before = controlsIn(document.body).filter(
      (control) => control.compareDocumentPosition(target as Node) & Node.DOCUMENT_POSITION_FOLLOWING,
    );
  }

  function rememberClick({ target }: MouseEvent): void {
    const control = target instanceof Element ? target.closest(CONTROLS) : null;
    clicks = [...clicks.slice(-1), { control, found: controlsIn(document.body) }];
  }

  /** A held Enter must not press the control that the focus has moved to. */
  function stopHeldKey(event: KeyboardEvent): void {
    if (!event.repeat) pressed = event.target;
    else if (event.key === 'Enter' && event.target !== pressed) event.preventDefault();
  }

  function restore(changes: readonly MutationRecord[]): void {
    const gone = focused;
    if (gone === null || document.activeElement !== document.body) return;
    const isHit = changes.some(
      ({ target, removedNodes }) => target === gone || [...removedNodes].some((node) => node.contains(gone)),
    );
    if (!isHit) return;
    if (gone.isConnected) return gone.focus({ preventScroll: true });
    const controls = parts.filter((part) => part.isConnected).map(controlsIn);
    const nearest = controls.find(({ length }) => length > 0) ?? [];
    const click = clicks.findLast(({ found }) => !found.includes(gone));
    const led =
      nearest.find((control) => control === click?.control) ??
      nearest.find((control) => opener !== '' && nameOf(control) === opener);
    opener = led ? '' : nameOf(gone);
    (led ?? nearest.find((control) => !before.includes(control)) ?? nearest.at(-1))?.focus();
  }

  const observer = new MutationObserver(restore);
  observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] });
  document.addEventListener('focusin', remember);
  document.addEventListener('keydown', stopHeldKey, true);
  document.addEventListener('click', rememberClick, true);
  return () => {
    observer.disconnect();
    document.removeEventListener('focusin', remember);
    document.removeEventListener('keydown', stopHeldKey, true);
    document.removeEventListener('click', rememberClick, true);
  };
}

const nameOf = (control: HTMLElement): string => control.getAttribute('aria-label') ?? control.textContent;

/** The controls that the Tab key reaches. */
const controlsIn = (part: HTMLElement): readonly HTMLElement[] =>
  [...part.querySelectorAll<HTMLElement>(CONTROLS)].filter(
    (control) => control.tabIndex >= 0 && !control.matches(':disabled') && control.getClientRects().length > 0,
  );

/** The elements around a control, from the inside to the outside. */
function partsAround({ parentElement }: HTMLElement): readonly HTMLElement[] {
  return parentElement ? [parentElement, ...partsAround(parentElement)] : [];
}
