/** Starts the game's page. */
import { mount } from 'svelte';
import '../shared/base.css';
import './game.css';
import GamePage from './GamePage.svelte';

const target = document.getElementById('app');
if (target) mount(GamePage, { target });
