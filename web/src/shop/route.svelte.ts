/** The screens of the shop: `?product=<id>`, `?new`, `?archived`, or the list. */
import { Route } from '../shared/route.svelte.ts';

export type Screen = { readonly is: 'list' | 'new' | 'archived' } | { readonly is: 'product'; readonly id: string };

/** The current screen of the page. */
export const route = new Route<Screen>(
  (query) => {
    const id = query.get('product');
    if (id !== null && id !== '') return { is: 'product', id };
    return { is: query.has('new') ? 'new' : query.has('archived') ? 'archived' : 'list' };
  },
  (screen) => {
    if (screen.is === 'product') return new URLSearchParams({ product: screen.id });
    return new URLSearchParams(screen.is === 'list' ? {} : { [screen.is]: '' });
  },
);
