/** Whether the page can be seen and whether the browser believes that it has a network. */

class Presence {
  /** The browser has a network. `true` does not promise that the server can be reached. */
  online = $state(navigator.onLine);
  /** The page is in the foreground. */
  visible = $state(document.visibilityState === 'visible');

  constructor() {
    addEventListener('online', () => (this.online = true));
    addEventListener('offline', () => (this.online = false));
    document.addEventListener('visibilitychange', () => (this.visible = document.visibilityState === 'visible'));
  }
}

/** The one presence of this page. */
export const presence = new Presence();
