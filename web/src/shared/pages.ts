/** The pages of the suite, in the order of the header. A page that joins adds a line here and an HTML file to the build. */
import type { Language } from './i18n.svelte.ts';

/** A page as the header lists it. */
export interface Page {
  readonly path: string;
  readonly title: Readonly<Record<Language, string>>;
}

/** The five systems. The mark beside them leads to the start page. */
const systems = [
  { path: '/tide/', title: { en: 'Clicks', ja: 'クリック' } },
  { path: '/game/', title: { en: 'Draw & guess', ja: 'お絵かき当て' } },
  { path: '/shop/', title: { en: 'Shop', ja: '商品' } },
  { path: '/okusuri/', title: { en: 'Okusuri', ja: 'おくすり' } },
  { path: '/lately/', title: { en: 'Lately', ja: '近況' } },
] as const satisfies readonly Page[];

/** What the local stack does. In the cloud a dashboard shows it. */
const operator = { path: '/operator/', title: { en: 'Operator', ja: '運用' } } as const satisfies Page;

/** The address of a page. */
export type Path = '/' | (typeof systems)[number]['path'] | (typeof operator)['path'];

/** The pages to list where this is the host: the operator's page is for whoever sits at the stack's own machine. */
export function pagesAt(hostname: string): readonly Page[] {
  return isThisMachine(hostname) ? [...systems, operator] : systems;
}

/** Whether a host's name is this machine's: the names that the local stack itself takes for it. */
export function isThisMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
