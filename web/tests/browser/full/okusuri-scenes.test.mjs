/** Accessibility of every scene of the page. */
import { scenes } from '../../okusuri-scenes.mjs';
import { testScenes } from '../scenes.mjs';

testScenes(scenes);
