/**
 * The screen in the address: `?view=calendar&month=2026-11`, `?view=history`, `?view=settings`,
 * `?view=report`, or today.
 */
import { Route } from '../shared/route.svelte.ts';

export const VIEWS = ['today', 'calendar', 'history', 'settings'] as const;

/** One of the four screens of the navigation. */
export type View = (typeof VIEWS)[number];
/** A screen. `report` is the page for the doctor. `month` is the calendar's; `null` for the current one. */
export type Screen = { readonly is: View | 'report'; readonly month: string | null };

/** The current screen of this page. */
export const route = new Route<Screen>(
  (query) => {
    const view = [...VIEWS, 'report' as const].find((one) => one === query.get('view')) ?? 'today';
    const month = query.get('month');
    return { is: view, month: month !== null && /^\d{4}-(0[1-9]|1[0-2])$/.test(month) ? month : null };
  },
  ({ is, month }) =>
    new URLSearchParams({ ...(is === 'today' ? {} : { view: is }), ...(month === null ? {} : { month }) }),
);
