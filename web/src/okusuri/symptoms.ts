/** The flow of bleeding and the symptoms of a day, in the order in which they are shown. */
import type { Schema } from '../shared/api.ts';

export type Flow = Schema<'Flow'>;
export type Symptom = Schema<'Symptoms'>[number];

export const FLOWS = ['spotting', 'light', 'medium', 'heavy'] as const satisfies readonly Flow[];
export const SYMPTOMS = [
  ...(['cramps', 'back-pain', 'headache', 'nausea', 'bloating'] as const),
  ...(['tender-breasts', 'tiredness', 'mood', 'dizziness'] as const),
] satisfies readonly Symptom[];

/** A change of a day's flow and symptoms; `null` takes the flow back. */
export interface DetailsChange {
  readonly flow?: Flow | null;
  readonly symptoms?: readonly Symptom[];
}
