/** The browser's timers and WebSockets, as {@link GameSocket} uses them. */
import { socketUrl } from './api.ts';
import type { Later, Transport, TransportEvents } from './transport.ts';

export const later: Later = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

export function openSocket(ticket: string, events: TransportEvents): Transport {
  const socket = new WebSocket(socketUrl(ticket));
  socket.addEventListener('open', events.onOpen);
  socket.addEventListener('message', (event: MessageEvent<unknown>) => {
    if (typeof event.data === 'string') events.onText(event.data);
  });
  socket.addEventListener('close', events.onClose);
  return socket;
}
