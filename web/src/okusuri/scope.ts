/** The path of the page, and the scope of its service worker. */
export const SCOPE = '/okusuri/';
