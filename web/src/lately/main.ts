/** Starts the recent events page. */
import { mount } from 'svelte';
import '../shared/base.css';
import LatelyPage from './LatelyPage.svelte';

const target = document.getElementById('app');
if (target) mount(LatelyPage, { target });
