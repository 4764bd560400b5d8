/** The texts of the game's page, with its board: one file for each language. */
import type { Dictionary } from '../shared/i18n.svelte.ts';
import { en, type Words } from './words/en.ts';
import { ja } from './words/ja.ts';

export type { Words } from './words/en.ts';

export const words: Dictionary<Words> = { en, ja };
