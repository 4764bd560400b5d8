/** Whether the page is visible and whether the browser is online. */

class Presence {
  /** The browser has a network connection. `true` does not mean that the server can be reached. */
  online = $state(navigator.onLine);
  /** The page is in the foreground. */
  visible = $state(document.visibilityState === 'visible');

  constructor() {
    addEventListener('online', () => (this.online = true));
    addEventListener('offline', () => (this.online = false));
    document.addEventListener('visibilitychange', () => (this.visible = document.visibilityState === 'visible'));
  }
}

/** The state of this page. */
export const presence = new Presence();
