/** What the charts share: how a canvas comes to the page's colours and letters. */

/** The canvas knows no custom properties, so they are resolved by an element that uses them. */
export function tokenColour(element: HTMLElement, token: string): string {
  element.style.color = `var(${token})`;
  const resolved = getComputedStyle(element).color;
  element.style.removeProperty('color');
  return resolved;
}

/** The font of numbers on axes. */
export function chartFont(element: HTMLElement): string {
  return `600 13px ${getComputedStyle(element).getPropertyValue('--font-mark')}`;
}
