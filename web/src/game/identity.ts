/** Who this browser is in all games: a token from the first game on, and the name that was used last. */
import { StoredText } from '../shared/storage.ts';

const storedName = new StoredText('localStorage', 'tidemark.game.name');
const storedToken = new StoredText('localStorage', 'tidemark.game.token');
const storedId = new StoredText('localStorage', 'tidemark.game.player');
const storedGame = new StoredText('localStorage', 'tidemark.game.last');

/** A player as the server knows them. */
export interface Identity {
  readonly playerId: string;
  readonly token: string;
}

/** `null` before the first game. */
export function recallIdentity(): Identity | null {
  const playerId = storedId.read();
  const token = storedToken.read();
  return playerId !== null && token !== null ? { playerId, token } : null;
}

/** `null` forgets: the server did not accept the token. */
export function rememberIdentity(identity: Identity | null): void {
  storedId.write(identity?.playerId ?? null);
  storedToken.write(identity?.token ?? null);
}

/** The name that was used last; empty before the first game. */
export function recallName(): string {
  return storedName.read() ?? '';
}

export function rememberName(name: string): void {
  storedName.write(name);
}

/** The game in which this browser took a seat last, to go back to; `null` when it was left. */
export function recallGame(): string | null {
  return storedGame.read();
}

export function rememberGame(gameId: string | null): void {
  storedGame.write(gameId);
}
