/** The browser and the stack that the browser tests and the screenshots share. */
import { chromium } from 'playwright-core';

const DEFAULT_PATH = '/usr/bin/chromium';

/** The stack's address, without a slash at the end; says what to do when there is none. */
export function stackUrl() {
  const url = process.env['TIDEMARK_URL'];
  if (!url) {
    throw new Error(
      'TIDEMARK_URL is not set. It is the address of a running stack: `make run` prints one, `make test` sets it by itself.',
    );
  }
  return url.replace(/\/$/, '');
}

/** Starts the system's Chromium (`CHROMIUM_PATH` names another), as root and without a graphics card too. */
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

/** The two sizes that everything is looked at in. */
export const viewports = {
  desktop: { width: 1280, height: 900 },
  phone: { width: 320, height: 700 },
};
