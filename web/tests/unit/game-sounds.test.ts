import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChatLine } from '../../src/game/chatLog.ts';
import { soundOf, type Heard } from '../../src/game/sounds.ts';
import { exampleRoom } from './game-fakes.ts';

const drawing = exampleRoom('room-drawing-guesser');
const line = (id: string, kind: ChatLine['kind']): ChatLine => ({
  ...{ id, playerId: 'p', name: 'P', text: '', at: null, kind },
  secret: false,
});
const first = line('1', 'talk');
const heard = (...lines: ChatLine[]): Heard => ({ room: drawing, lines: [first, ...lines] });

test('a guess, a right guess and the end of a turn have a sound', () => {
  const reveal = { room: exampleRoom('room-reveal'), lines: [first] };
  assert.equal(soundOf(heard(), heard(line('2', 'guess'))), 'guess');
  assert.equal(soundOf(heard(), heard(line('2', 'guess'), line('3', 'correct'))), 'right');
  assert.equal(soundOf(heard(), reveal), 'end');
  assert.equal(soundOf(reveal, reveal), null);
});

test('talk, known lines and the history after a reconnect are silent', () => {
  const four = ['2', '3', '4', '5'].map((id) => line(id, 'guess'));
  assert.equal(soundOf(heard(), heard(line('2', 'talk'), line('3', 'system'))), null);
  assert.equal(soundOf(heard(...four), heard(...four)), null);
  assert.equal(soundOf(heard(), heard(...four)), null);
  assert.equal(soundOf({ room: drawing, lines: [] }, heard(line('2', 'guess'))), null);
});
