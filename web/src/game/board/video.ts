/** Records the replay of a drawing as a video, with the browser's own encoder. */
import { BOARD_HEIGHT, BOARD_WIDTH, type Batch } from './protocol.ts';
import { Replay } from './replay.ts';
import { Surface } from './surface.ts';

/** The whole drawing is played in at most this time, and the finished picture stays for this. */
const PLAY_MS_MAX = 6_000;
const END_MS = 1_500;
/** A browser stops to draw in a hidden tab. Then there is no video. */
const RECORD_MS_MAX = 30_000;
const FRAMES_PER_SECOND = 25;
const SCALE = 0.5;

const TYPES = { 'video/webm': 'webm', 'video/mp4': 'mp4' };

/** The format of {@link toVideo}, as the end of a file name; `null` when the browser cannot record. */
export function videoFormat(): string | null {
  return format()?.[1] ?? null;
}

/** Draws the batches from the beginning, and returns the video. `null` when the browser cannot. */
export async function toVideo(batches: readonly Batch[]): Promise<Blob | null> {
  const [type] = format() ?? [];
  if (type === undefined) return null;
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [BOARD_WIDTH * SCALE, BOARD_HEIGHT * SCALE];
  const context = canvas.getContext('2d', { alpha: false });
  const whole = document.createElement('canvas');
  [whole.width, whole.height] = [BOARD_WIDTH, BOARD_HEIGHT];
  const replay = new Replay(batches);
  replay.speed = Math.max(1, replay.durationMs / PLAY_MS_MAX);
  const surface = new Surface(whole, replay);
  const recorder = new MediaRecorder(canvas.captureStream(FRAMES_PER_SECOND), { mimeType: type });
  const parts: Blob[] = [];
  const copy = (): void => context?.drawImage(whole, 0, 0, canvas.width, canvas.height);
  const copying = setInterval(copy, 1_000 / FRAMES_PER_SECOND);
  try {
    const stopped = new Promise((resolve) => recorder.addEventListener('stop', resolve));
    recorder.addEventListener('dataavailable', ({ data }) => parts.push(data));
    const isPlayed = new Promise<boolean>((resolve) => {
      setTimeout(() => resolve(false), RECORD_MS_MAX);
      replay.onChange = () => {
        if (!replay.isPlaying) resolve(true);
      };
    });
    recorder.start();
    replay.play();
    surface.wake();
    if (!(await isPlayed)) return null;
    await new Promise((resolve) => setTimeout(resolve, END_MS));
    recorder.stop();
    await stopped;
    return new Blob(parts, { type });
  } finally {
    clearInterval(copying);
    surface.dispose();
    if (recorder.state !== 'inactive') recorder.stop();
  }
}

function format(): [string, string] | undefined {
  if (typeof MediaRecorder === 'undefined') return undefined;
  return Object.entries(TYPES).find(([type]) => MediaRecorder.isTypeSupported(type));
}
