/** What a connection stands on: a WebSocket, and a timer. Tests replace both. */

/** The part of the WebSocket interface that is used. */
export interface Transport {
  send(text: string): void;
  close(): void;
}

/** The events of a transport. No event follows `onClose`. */
export interface TransportEvents {
  readonly onOpen: () => void;
  readonly onText: (text: string) => void;
  readonly onClose: () => void;
}

/** Runs a function after a delay. The returned function cancels it. */
export type Later = (ms: number, run: () => void) => () => void;
