/** The sounds of the game, made with Web Audio: no files. Off is remembered. */
import { StoredText } from '../shared/storage.ts';
import type { ChatLine } from './chatLog.ts';
import type { Room } from './protocol.ts';

export type Sound = 'guess' | 'right' | 'end';

/** The tones of a sound: frequency in Hz, begin and length in seconds. */
const TONES: Record<Sound, readonly (readonly [hz: number, at: number, seconds: number])[]> = {
  guess: [[520, 0, 0.06]],
  right: [
    [660, 0, 0.12],
    [880, 0.1, 0.22],
  ],
  end: [
    [587, 0, 0.16],
    [440, 0.15, 0.3],
  ],
};
const VOLUME = 0.08;

/** What the player hears of. */
export interface Heard {
  readonly room: Room;
  readonly lines: readonly ChatLine[];
}

/** The sound of a change, or `null`. The end of a turn is louder news than a line. */
export function soundOf(before: Heard, after: Heard): Sound | null {
  const { turn } = after.room;
  if (turn?.phase === 'reveal' && before.room.turn?.phase === 'drawing') return 'end';
  const known = new Set(before.lines.map((line) => line.id));
  const fresh = after.lines.filter((line) => !known.has(line.id));
  // Many lines at once are the history of a new connection.
  if (before.lines.length === 0 || fresh.length > 3) return null;
  if (fresh.some((line) => line.kind === 'correct')) return 'right';
  return fresh.some((line) => line.kind === 'guess') ? 'guess' : null;
}

const stored = new StoredText('localStorage', 'tidemark.game.sounds');
let context: AudioContext | undefined;

/** Whether the player wants sounds. */
export function recallSounds(): boolean {
  return stored.read() !== 'off';
}

export function rememberSounds(on: boolean): void {
  stored.write(on ? null : 'off');
}

/** Plays a sound. Silent where the browser has no audio, or waits for a first click. */
export function play(sound: Sound): void {
  if (typeof AudioContext === 'undefined') return;
  context ??= new AudioContext();
  if (context.state === 'suspended') void context.resume().catch(() => {});
  const now = context.currentTime;
  for (const [hz, at, seconds] of TONES[sound]) {
    const [tone, volume] = [context.createOscillator(), context.createGain()];
    tone.type = 'triangle';
    tone.frequency.value = hz;
    volume.gain.setValueAtTime(VOLUME, now + at);
    // A sudden end would click.
    volume.gain.exponentialRampToValueAtTime(0.001, now + at + seconds);
    tone.connect(volume).connect(context.destination);
    tone.start(now + at);
    tone.stop(now + at + seconds);
  }
}
