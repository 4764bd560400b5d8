/** Starts the clicks page. */
import { mount } from 'svelte';
import '../shared/base.css';
import ClicksPage from './ClicksPage.svelte';

const target = document.getElementById('app');
if (target) mount(ClicksPage, { target });
