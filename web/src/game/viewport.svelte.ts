/** The visible part of the page. On a phone the on-screen keyboard covers the rest. */
import { MediaQuery } from 'svelte/reactivity';

class VisibleViewport {
  /** CSS pixels. */
  height = $state(innerHeight);
  /** Offset from the top of the page: a phone may scroll the page to show a focused field. */
  top = $state(0);

  constructor() {
    const view = visualViewport;
    const read = () => {
      this.height = view?.height ?? innerHeight;
      this.top = view?.offsetTop ?? 0;
    };
    read();
    (view ?? globalThis).addEventListener('resize', read);
    view?.addEventListener('scroll', read);
  }
}

/** The viewport of this page. */
export const visibleViewport = new VisibleViewport();

/**
 * A wide but short viewport: the drawing tools stand beside the board. {@link
 * file://./PlayScreen.svelte} has the same query in its styles.
 */
export const isWideAndShort = new MediaQuery('(min-aspect-ratio: 5/4) and (max-height: 50rem)');
