/** Starts the operator's page. */
import { mount } from 'svelte';
import '../shared/base.css';
import OperatorPage from './OperatorPage.svelte';

const target = document.getElementById('app');
if (target) mount(OperatorPage, { target });
