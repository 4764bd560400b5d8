/**
 * The pages in the order of the header. A new page needs an entry here and its HTML document in
 * `shells.ts`.
 */
import type { Language } from './i18n.svelte.ts';

/** A page in the header's navigation. */
export interface Page {
  readonly path: string;
  readonly title: Readonly<Record<Language, string>>;
}

/** The five systems. The start page is not in the list: the logo links to it. */
const systems = [
  { path: '/tide/', title: { en: 'Clicks', ja: 'クリック' } },
  { path: '/game/', title: { en: 'Draw & guess', ja: 'お絵かき当て' } },
  { path: '/shop/', title: { en: 'Shop', ja: '商品' } },
  { path: '/okusuri/', title: { en: 'Okusuri', ja: 'おくすり' } },
  { path: '/lately/', title: { en: 'Recent events', ja: '最近のできごと' } },
] as const satisfies readonly Page[];

/** The metrics of the local stack. A deployed stack has a CloudWatch dashboard instead. */
const operator = { path: '/operator/', title: { en: 'Operator', ja: '運用' } } as const satisfies Page;

/** The path of a page. */
export type Path = '/' | (typeof systems)[number]['path'] | (typeof operator)['path'];

/**
 * The pages to list for this host name. The operator's page is listed only on the machine that runs
 * the stack.
 */
export function pagesAt(hostname: string): readonly Page[] {
  return isLoopbackHost(hostname) ? [...systems, operator] : systems;
}

/** Whether a host name is the local machine. The local stack accepts the same names. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
