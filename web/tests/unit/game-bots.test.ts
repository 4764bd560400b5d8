import '../../src/game/bots/drawings.ts';
