/** The pages of the suite, in the order of the header. A page that joins adds a line here and an HTML file to the build. */
import type { Language } from './i18n.svelte.ts';

/** A page as the header lists it. */
export interface Page {
  readonly path: string;
  readonly title: Readonly<Record<Language, string>>;
}

/** All pages. */
export const pages = [
  { path: '/', title: { en: 'Clicks', ja: 'クリック' } },
  { path: '/game/', title: { en: 'Draw & guess', ja: 'お絵かき当て' } },
  { path: '/shop/', title: { en: 'Shop', ja: '商品' } },
  { path: '/okusuri/', title: { en: 'Okusuri', ja: 'おくすり' } },
  { path: '/lately/', title: { en: 'Lately', ja: '近況' } },
] as const satisfies readonly Page[];
