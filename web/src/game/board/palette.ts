import type { Words } from '../words.ts';

/**
 * The colours of the board. Drawings store a colour as its index in this list, so the order must
 * never change.
 *
 * The colours were chosen by a search that keeps any two distinguishable, for normal vision and for
 * the three kinds of dichromacy. A test checks this.
 */
export interface Colour {
  /** `#rrggbb` */
  readonly hex: string;
  readonly name: keyof Words['board']['colours'];
}

/** Two rows of twelve, as in the toolbar: a darker colour below each light one. */
export const PALETTE: readonly Colour[] = [
  { hex: '#ffffff', name: 'white' },
  { hex: '#c1c0b0', name: 'lightGrey' },
  { hex: '#ffd4c7', name: 'peach' },
  { hex: '#f07ec0', name: 'pink' },
  { hex: '#d41b48', name: 'red' },
  { hex: '#ff6e0a', name: 'orange' },
  { hex: '#fcc500', name: 'yellow' },
  { hex: '#e2f39a', name: 'paleYellow' },
  { hex: '#97e27b', name: 'lightGreen' },
  { hex: '#5fdfff', name: 'skyBlue' },
  { hex: '#1b70ff', name: 'blue' },
  { hex: '#a1affc', name: 'lavender' },
  { hex: '#060d14', name: 'black' },
  { hex: '#7c8b87', name: 'grey' },
  { hex: '#c1966e', name: 'tan' },
  { hex: '#c740c1', name: 'magenta' },
  { hex: '#7e2354', name: 'wine' },
  { hex: '#805a03', name: 'brown' },
  { hex: '#3f1909', name: 'darkBrown' },
  { hex: '#00ae0d', name: 'green' },
  { hex: '#294800', name: 'darkGreen' },
  { hex: '#157b80', name: 'teal' },
  { hex: '#160271', name: 'navy' },
  { hex: '#731ac5', name: 'purple' },
];

/** The colour of the paper and of the eraser. */
export const PAPER = 0;
export const BLACK = 12;

/**
 * The colours of the keys 1 to 9 and 0: black, red, orange, yellow, green, sky blue, blue, purple,
 * brown, white.
 */
export const DIGIT_COLOURS: readonly number[] = [12, 4, 5, 6, 19, 9, 10, 23, 17, 0];
