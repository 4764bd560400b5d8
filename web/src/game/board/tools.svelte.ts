/** What the drawer holds in the hand. */
import { BLACK } from './palette.ts';
import type { ToolName } from './shortcuts.ts';

/** Widths of pen and eraser, in units of the board. */
export const SIZES = [4, 10, 20, 40, 80] as const;

/** The tool in hand. It outlasts a turn: who draws again finds what was chosen. */
export class Tools {
  name = $state<ToolName>('pen');
  /** Index into the palette. */
  colour = $state(BLACK);
  /** Index into {@link SIZES}. */
  size = $state(1);
  readonly width = $derived(SIZES[this.size] ?? SIZES[1]);

  /** Chooses a colour; the eraser has none, so the pen comes to hand. */
  choose(colour: number): void {
    this.colour = colour;
    if (this.name === 'eraser') this.name = 'pen';
  }

  /** One size up or down, as far as there are some. */
  resize(step: number): void {
    this.size = Math.min(SIZES.length - 1, Math.max(0, this.size + step));
  }
}

/** The tools of this visit. */
export const tools = new Tools();
