/** Accessibility of every scene of the page. */
import { journalScenes } from '../../shop-scenes.mjs';
import { testScenes } from '../scenes.mjs';

testScenes(journalScenes);
