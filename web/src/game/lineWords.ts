/** A line of the chat in the page's language, for those kinds that the server sends without words. */
import type { Line } from './protocol.ts';
import type { Words } from './words.ts';

/** What the line says to that player. */
export function lineWords(t: Words, line: Line, playerId: string): string {
  switch (line.kind) {
    case 'correct':
      return line.playerId === playerId ? t.youGot : t.got(line.name);
    case 'system':
      // A newer server may have more to tell; its name is better than nothing.
      return Object.hasOwn(t.system, line.text) ? t.system[line.text as keyof Words['system']](line.name) : line.name;
    default:
      return t.said(line.name, line.text);
  }
}
