/** The texts of the medication log in both languages, and the text of a day's state. */
import type { Dictionary } from '../shared/i18n.svelte.ts';
import type { DayState, Log } from './api.ts';
import { en, type Words } from './words/en.ts';
import { ja } from './words/ja.ts';

export type { Words } from './words/en.ts';

export const words: Dictionary<Words> = { en, ja };

/** The flow and the symptoms of a log, as far as it has them. */
export function detailTexts(
  t: Pick<Words, 'flowIs' | 'flows' | 'symptomNames' | 'symptomsAre'>,
  log: Pick<Log, 'flow' | 'symptoms'> | undefined,
): readonly string[] {
  const symptoms = (log?.symptoms ?? []).map((symptom) => t.symptomNames[symptom]);
  return [
    ...(log?.flow ? [t.flowIs(t.flows[log.flow])] : []),
    ...(symptoms.length > 0 ? [t.symptomsAre(symptoms)] : []),
  ];
}

/** The text of a day's state. On a rest day it also says what was recorded. */
export function dayStateText(
  t: Pick<Words, 'dayStates' | 'restTaken' | 'restBleeding' | 'restOnlyBleeding' | 'bleedingOnly'>,
  { state, log }: { readonly state: DayState; readonly log?: Pick<Log, 'hasBleeding' | 'isTaken'> },
): string {
  if (log?.isTaken && state === 'rest') return log.hasBleeding ? t.restBleeding : t.restTaken;
  if (log?.isTaken || !log?.hasBleeding) return t.dayStates[state];
  return state === 'rest' ? t.restOnlyBleeding : t.bleedingOnly;
}
