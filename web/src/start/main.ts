/** Starts the start page. */
import { mount } from 'svelte';
import '../shared/base.css';
import StartPage from './StartPage.svelte';

const target = document.getElementById('app');
if (target) mount(StartPage, { target });
