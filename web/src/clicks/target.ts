/** What a click is counted for, such as a button or a page. The visitor chooses it. */
import { StoredText } from '../shared/storage.ts';
import type { TargetStat } from './api.ts';

/** The maximum length of a target in code points, as in the API. */
export const TARGET_CHARS_MAX = 100;

/** The target until the visitor chooses another one. */
export const TARGET_DEFAULT = 'tide';

/** Why a text cannot be a target. */
export type TargetFault = 'empty' | 'tooLong' | 'control';

const stored = new StoredText('localStorage', 'tidemark.target');

/** Checks a target with the rules of the API; `null` when it is valid. */
export function targetFault(target: string): TargetFault | null {
  if (target === '') return 'empty';
  if ([...target].length > TARGET_CHARS_MAX) return 'tooLong';
  if (/\p{Cc}/u.test(target)) return 'control';
  return null;
}

/** The stored target, or the default. */
export function loadTarget(): string {
  const target = stored.read();
  return target !== null && targetFault(target) === null ? target : TARGET_DEFAULT;
}

/** Stores a target that {@link targetFault} has accepted. */
export function saveTarget(target: string): void {
  stored.write(target);
}

/**
 * Whether a reader sees something of the target. A target of spaces or invisible characters would
 * look like an empty row.
 */
export function isVisible(target: string): boolean {
  return /[^\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u.test(target);
}

/** A target of a range. Only the visitors of a single day can be counted. */
export type RankedTarget = Omit<TargetStat, 'uniqueUsers'> & Partial<TargetStat>;

/** Adds up the clicks of several days, most first. */
export function ranked(days: readonly (readonly TargetStat[])[]): readonly RankedTarget[] {
  const clicks = new Map<string, number>();
  for (const { target, totalClicks } of days.flat()) clicks.set(target, (clicks.get(target) ?? 0) + totalClicks);
  const targets = [...clicks].map(([target, totalClicks]) => ({ target, totalClicks }));
  return targets.sort((a, b) => b.totalClicks - a.totalClicks);
}

/** The part of all clicks that a target has, 0 to 1. */
export function shareOf(clicks: number, allClicks: number): number {
  // Both numbers come from different responses, so that the target may be ahead of the sum.
  return clicks === 0 ? 0 : Math.min(1, clicks / Math.max(allClicks, 1));
}
