/** The browser and the address of the stack, for the browser tests and the screenshots. */
import { chromium } from 'playwright-core';

const DEFAULT_PATH = '/usr/bin/chromium';

/** The address of the stack, without a slash at the end. */
export function stackUrl() {
  const url = process.env['TIDEMARK_URL'];
  if (!url) {
    throw new Error(
      'TIDEMARK_URL is not set. It is the address of a running stack: `make run` prints one, `make test` sets it automatically.',
    );
  }
  return url.replace(/\/$/, '');
}

/**
 * Starts the system's Chromium, or the one in `CHROMIUM_PATH`. The arguments also allow root and no
 * graphics card.
 */
export function launchChromium() {
  return chromium.launch({
    executablePath: process.env['CHROMIUM_PATH'] ?? DEFAULT_PATH,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** The two window sizes of the tests and the screenshots. */
export const viewports = {
  desktop: { width: 1280, height: 900 },
  phone: { width: 320, height: 700 },
};
