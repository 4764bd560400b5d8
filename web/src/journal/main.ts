/** Starts the recent events page. */
import { mount } from 'svelte';
import '../shared/base.css';
import JournalPage from './JournalPage.svelte';

const target = document.getElementById('app');
if (target) mount(JournalPage, { target });
