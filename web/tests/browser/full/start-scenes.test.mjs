/** Accessibility of every scene of the page. */
import { scenes } from '../../start-scenes.mjs';
import { testScenes } from '../scenes.mjs';

testScenes(scenes);
