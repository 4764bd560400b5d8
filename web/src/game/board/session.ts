/** The drawing of one turn, for the one who draws it and for those who watch. */
import type { BoardMessage, InkMessage } from './protocol.ts';

export interface SessionOptions {
  readonly turnId: string;
  /** Whether this player is the turn's drawer; fixed for the turn. */
  readonly isDrawer: boolean;
  /** Hands a message to the socket. What is sent while there is no connection may be dropped: {@link BoardSession.connected} makes up for it. */
  readonly send: (message: BoardMessage) => void;
}

/** Made by the page when a turn's drawing begins or is found running, shown by `Board.svelte`. */
export class BoardSession {
  constructor(readonly options: SessionOptions) {}

  /** After every `welcome` of a connection, the first too: asks for what is missing, and sends again what was not stored. */
  connected(): void {}

  /** Takes an `ink`; one of another turn is ignored. */
  receive(_ink: InkMessage): void {}

  /** The drawing's time is over (reveal): the drawer's last points are saved, the others get what they have missed. */
  finish(): void {}

  /** The page leaves the turn: stops all timers. */
  dispose(): void {}
}
