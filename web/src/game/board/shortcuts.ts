/** The keyboard shortcuts of the board. */
import { DIGIT_COLOURS } from './palette.ts';

export type ToolName = 'pen' | 'eraser' | 'fill';

/** The command of a shortcut. */
export type Command =
  | { readonly kind: 'tool'; readonly tool: ToolName }
  | { readonly kind: 'colour'; readonly colour: number }
  | { readonly kind: 'size'; readonly step: 1 | -1 }
  | { readonly kind: 'undo' | 'redo' | 'clear' };

const TOOL_KEYS: Readonly<Record<string, ToolName>> = { b: 'pen', e: 'eraser', f: 'fill' };

type Key = Pick<KeyboardEvent, 'key' | 'code' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey' | 'isComposing'>;

/** The command of a key. `null` when the board does not use the key. */
export function commandOf(event: Key): Command | null {
  if (event.altKey || event.isComposing) return null;
  const key = letterOf(event);
  if (event.ctrlKey || event.metaKey) {
    if (key === 'z') return { kind: event.shiftKey ? 'redo' : 'undo' };
    return key === 'y' && !event.shiftKey ? { kind: 'redo' } : null;
  }
  if (key === '[' || key === ']') return { kind: 'size', step: key === ']' ? 1 : -1 };
  if (event.shiftKey) return null;
  if (key === 'delete') return { kind: 'clear' };
  const tool = TOOL_KEYS[key];
  if (tool !== undefined) return { kind: 'tool', tool };
  const digit = /^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1];
  // The keys are in the order 1 to 9, 0.
  const colour = digit === undefined ? undefined : DIGIT_COLOURS[(Number(digit) + 9) % 10];
  return colour === undefined ? null : { kind: 'colour', colour };
}

/** The character of the key. On a kana keyboard, the Latin letter at the same place. */
function letterOf({ key, code }: Key): string {
  const place = /^Key([A-Z])$/.exec(code)?.[1];
  return (/^[ -~]+$/.test(key) ? key : (place ?? key)).toLowerCase();
}

/** Whether typing into an element writes text. */
export function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== 'radio' && target.type !== 'checkbox';
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}
