/** Where the page and its service worker are. */
export const SCOPE = '/okusuri/';
