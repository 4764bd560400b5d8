/** Accessibility of every scene of the page. */
import { scenes } from '../../clicks-scenes.mjs';
import { testScenes } from '../scenes.mjs';

testScenes(scenes);
