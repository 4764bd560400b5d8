/** The drawer's selected tool. */
import { BLACK } from './palette.ts';
import type { ToolName } from './shortcuts.ts';

/** Widths of pen and eraser, in units of the board. */
export const SIZES = [4, 10, 20, 40, 80] as const;

/** The selected tool, colour and size. They are kept from turn to turn. */
export class Tools {
  name = $state<ToolName>('pen');
  /** Index into the palette. */
  colour = $state(BLACK);
  /** Index into {@link SIZES}. */
  size = $state(1);
  readonly width = $derived(SIZES[this.size] ?? SIZES[1]);

  /** Selects a colour. The eraser has no colour, so this switches to the pen. */
  choose(colour: number): void {
    this.colour = colour;
    if (this.name === 'eraser') this.name = 'pen';
  }

  /** One size up or down, within the available ones. */
  resize(step: number): void {
    this.size = Math.min(SIZES.length - 1, Math.max(0, this.size + step));
  }
}

/** The tools of this page. */
export const tools = new Tools();
