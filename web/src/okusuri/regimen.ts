/** The regimens that the page offers. 21/7 and 24/4 are cycles with names. */
import type { User } from './api.ts';

export const CHOICES = ['medicines', 'continuous', '21/7', '24/4', 'own'] as const;
export type RegimenChoice = (typeof CHOICES)[number];

export const PACKS = {
  '21/7': { activeDays: 21, restDays: 7 },
  '24/4': { activeDays: 24, restDays: 4 },
} as const;

/** The server's limits. */
export const ACTIVE_DAYS_MAX = 365;
export const REST_DAYS_MAX = 90;

/** The choice that a regimen is shown as. */
export function choiceOf(regimen: User['regimen']): RegimenChoice {
  if (regimen.kind !== 'cycle') return regimen.kind;
  const pack = `${regimen.activeDays}/${regimen.restDays}`;
  return pack === '21/7' || pack === '24/4' ? pack : 'own';
}

/**
 * Whether bleeding is asked for. A user whom an earlier version of the page has cached has no
 * regimen.
 */
export function asksBleeding(user: { readonly regimen?: User['regimen'] } | null): boolean {
  return user?.regimen?.kind !== 'medicines';
}
