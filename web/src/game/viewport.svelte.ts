/** The part of the page that can be seen: on a phone, what the keyboard leaves over. */
import { MediaQuery } from 'svelte/reactivity';

class SeenViewport {
  /** CSS pixels. */
  height = $state(innerHeight);
  /** How far down the page it begins: a phone may push the page up to show a field. */
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

/** The one viewport. */
export const seen = new SeenViewport();

/** Wide and of little height: the tools of the board stand beside it. {@link file://./Table.svelte} has the same query in its styles. */
export const isLow = new MediaQuery('(min-aspect-ratio: 5/4) and (max-height: 50rem)');
