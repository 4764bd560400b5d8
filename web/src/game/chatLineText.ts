/**
 * The text of a chat line in the page's language. Lines of the kinds `correct` and `system` arrive
 * without a text.
 */
import type { Line } from './protocol.ts';
import type { Words } from './words.ts';

/** The text of a line as the given player reads it. */
export function chatLineText(t: Words, line: Line, playerId: string): string {
  switch (line.kind) {
    case 'correct':
      return line.playerId === playerId ? t.youGot : t.got(line.name);
    case 'system':
      // A newer server may send unknown events. Then only the player's name is shown.
      return Object.hasOwn(t.system, line.text) ? t.system[line.text as keyof Words['system']](line.name) : line.name;
    default:
      return t.said(line.name, line.text);
  }
}
