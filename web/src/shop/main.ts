/** Starts the shop page. */
import { mount } from 'svelte';
import '../shared/base.css';
import ShopPage from './ShopPage.svelte';

const target = document.getElementById('app');
if (target) mount(ShopPage, { target });
