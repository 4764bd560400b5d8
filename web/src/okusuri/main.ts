/** Starts the page of the medication log, and the worker that opens it without a network. */
import { mount } from 'svelte';
import '../shared/base.css';
import OkusuriPage from './OkusuriPage.svelte';
import { SCOPE } from './scope.ts';

const target = document.getElementById('app');
if (target) mount(OkusuriPage, { target });

// The development server has no worker: what it serves changes under one's hands.
if (import.meta.env.PROD && 'serviceWorker' in navigator) {
  navigator.serviceWorker.register(`${SCOPE}sw.js`, { scope: SCOPE }).catch(() => {
    // A private window may refuse; the page then needs the network.
  });
}
