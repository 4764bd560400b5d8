/** Gives charts on a canvas the colours and the font of the page. */

/**
 * Resolves a design token to a colour. A canvas cannot read CSS custom properties, so an element
 * resolves them.
 */
export function tokenColour(element: HTMLElement, token: string): string {
  element.style.color = `var(${token})`;
  const resolved = getComputedStyle(element).color;
  element.style.removeProperty('color');
  return resolved;
}

/** The font of the axis labels. */
export function chartFont(element: HTMLElement): string {
  return `600 13px ${getComputedStyle(element).getPropertyValue('--font-mark')}`;
}
