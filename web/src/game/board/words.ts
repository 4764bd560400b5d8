/** The words of the board: tools, shortcuts, replay. */
import type { Dictionary } from '../../shared/i18n.svelte.ts';

const en = {
  tools: 'Drawing tools',
  tool: 'Tool',
  pen: 'Pen',
  eraser: 'Eraser',
  fill: 'Fill',
  size: 'Size',
  sizes: ['Fine', 'Small', 'Medium', 'Large', 'Huge'],
  colour: 'Colour',
  undo: 'Undo',
  redo: 'Redo',
  clear: 'Clear the board',
  clearQuestion: 'Clear the whole board?',
  clearNote: 'Undo brings the drawing back.',
  clearYes: 'Clear',
  clearNo: 'Keep drawing',
  preparing: 'Getting the board ready…',
  inkUsedUp: 'The ink is used up. Undo and clear still work.',
  play: 'Play',
  pause: 'Pause',
  position: 'Position',
  speed: 'Speed',
  times: (factor: number) => `${factor}×`,
  seconds: (passed: number, whole: number) => `${passed} of ${whole} s`,
  savePicture: 'Save picture',
};

const ja: typeof en = {
  tools: 'お絵かきの道具',
  tool: '道具',
  pen: 'ペン',
  eraser: '消しゴム',
  fill: '塗りつぶし',
  size: '太さ',
  sizes: ['極細', '細', '中', '太', '極太'],
  colour: '色',
  undo: '元に戻す',
  redo: 'やり直す',
  clear: '全部消す',
  clearQuestion: '絵を全部消しますか？',
  clearNote: '「元に戻す」で戻せます。',
  clearYes: '消す',
  clearNo: '続けて描く',
  preparing: '準備中…',
  inkUsedUp: 'インクを使い切りました。「元に戻す」と「全部消す」は使えます。',
  play: '再生',
  pause: '一時停止',
  position: '再生位置',
  speed: '速さ',
  times: (factor) => `${factor}倍`,
  seconds: (passed, whole) => `${whole}秒中${passed}秒`,
  savePicture: '画像を保存',
};

/** Both languages. */
export const words: Dictionary<typeof en> = { en, ja };
