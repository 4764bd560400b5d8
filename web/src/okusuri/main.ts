/** Starts the page of the medication log and registers its service worker. */
import { mount } from 'svelte';
import '../shared/base.css';
import OkusuriPage from './OkusuriPage.svelte';
import { SCOPE } from './scope.ts';

const target = document.getElementById('app');
if (target) mount(OkusuriPage, { target });

// Not in development: the worker would serve cached files while they change.
if (import.meta.env.PROD && 'serviceWorker' in navigator) {
  navigator.serviceWorker.register(`${SCOPE}sw.js`, { scope: SCOPE }).catch(() => {
    // A private window may refuse. The page then works only with a network.
  });
}
