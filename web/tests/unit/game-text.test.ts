import assert from 'node:assert/strict';
import { test } from 'node:test';
import { creatureOf, CREATURE_KINDS } from '../../src/game/creature.ts';
import {
  isAnswer,
  langOf,
  letterCounts,
  nameFault,
  parseGameId,
  parseWordList,
  proposedLanguage,
  tidyLine,
  tidyName,
  toAnswer,
} from '../../src/game/text.ts';
import { words } from '../../src/game/words.ts';

test('a name has one to ten letters, marks or digits, with single spaces inside', () => {
  for (const name of ['a', 'あんず', 'Ann 2', '𠮷野家', 'é', 'नमस्ते', 'あいうえおかきくけこ', 'ता'.repeat(10)])
    assert.equal(nameFault(name), null, name);
  assert.equal(nameFault(''), 'empty');
  assert.equal(nameFault('あいうえおかきくけこさ'), 'tooLong');
  for (const name of ['a  b', 'a-b', '<b>', 'a\tb', 'a\u3000b', '🐟'])
    assert.equal(nameFault(name), 'characters', name);
});

test('a name is converted to NFC and trimmed', () => {
  assert.equal(tidyName(' は\u3099 '), 'ば');
});

test('an answer is hiragana; katakana and half-width letters are converted', () => {
  assert.equal(toAnswer('カレー ライス', 'ja'), 'かれーらいす');
  assert.equal(toAnswer('ｶﾞｯｺｳ', 'ja'), 'がっこう');
  assert.equal(toAnswer('ヴァイオリン', 'ja'), 'ゔぁいおりん');
  for (const word of ['ねこ', 'らーめん', 'っ']) assert.ok(isAnswer(word, 'ja'), word);
  for (const word of ['', 'ネコ', '猫', 'neko', 'ねこ!', 'あ'.repeat(51)]) assert.ok(!isAnswer(word, 'ja'), word);
});

test('an answer of another language has Latin letters, with single spaces and hyphens inside', () => {
  assert.equal(toAnswer('  Ice   cream ', 'en'), 'Ice cream');
  assert.equal(toAnswer('cat’s eye', 'en'), "cat's eye");
  for (const word of ['dog', 'yo-yo', "jack-o'-lantern", 'piñata', '3D glasses', 'x'.repeat(50)])
    assert.ok(isAnswer(word, 'en') && isAnswer(word, 'fr'), word);
  for (const word of ['Strauß', 'œuf', 'piña', 'pão', 'U-Boot']) assert.ok(isAnswer(word, 'de'), word);
  for (const word of ['', 'ねこ', 'dog!', '-', 'a--b', 'a b ', "'", 'собака', 'x'.repeat(51)])
    assert.ok(!isAnswer(word, 'en'), word);
});

test('the language of a word and the letter counts of a mask', () => {
  assert.deepEqual(['りんご', 'らーめん', 'dog', 'piñata', '7'].map(langOf), ['ja', 'ja', '', '', '']);
  assert.deepEqual(['＿＿', '＿＿＿ ＿r', "＿＿-o'-＿"].map(letterCounts), ['2', '3 + 2', '2 + 1 + 1']);
});

test('a game begins with words in the language of the page or of the browser', () => {
  for (const [page, browser, words] of [
    ['en', ['en-GB', 'de'], 'en'],
    ['en', ['de-AT', 'en'], 'de'],
    ['en', ['it', 'pt-BR'], 'pt'],
    ['en', ['ja', 'en'], 'en'],
    ['en', ['ja'], 'en'],
    ['en', [], 'en'],
    ['ja', ['fr'], 'ja'],
  ] as const)
    assert.equal(proposedLanguage(page, browser), words, browser.join());
});

test('a pasted list gives each word once, and the entries that cannot be answers', () => {
  assert.deepEqual(parseWordList('ねこ\nイヌ、 ねこ ,\n\n猫', 'ja'), { words: ['ねこ', 'いぬ'], bad: ['猫'] });
});

test('the game id is found in a link, a code and a text around them', () => {
  const id = '0199c0de-7a10-7c3e-9b52-3f1d8a40c001';
  for (const text of [id, id.toUpperCase(), ` https://x.test/game/?game=${id} `, `come: ${id}!`])
    assert.equal(parseGameId(text), id);
  for (const text of ['', 'abc', id.slice(0, -1)]) assert.equal(parseGameId(text), null);
});

test('a line has no control characters and at most 100 characters as people see them', () => {
  assert.equal(tidyLine('  a\n\u0007b  '), 'a b');
  assert.equal(tidyLine(' \n '), null);
  assert.equal([...tidyLine('𠮷'.repeat(600))!].length, 100);
  assert.equal(tidyLine('👩‍👧'.repeat(101)), '👩‍👧'.repeat(100));
});

test('a player always has the same creature, and players have different ones', () => {
  assert.deepEqual(creatureOf('0199c0d0-1111'), creatureOf('0199c0d0-1111'));
  const kinds = new Set(Array.from({ length: 200 }, (_, i) => creatureOf(`0199c0d0-${i}`).kind));
  assert.equal(kinds.size, CREATURE_KINDS.length);
});

test('every text has a Japanese translation', () => {
  const same: string[] = [];
  const compare = (en: Record<string, unknown>, ja: Record<string, unknown>, path: string) => {
    assert.deepEqual(Object.keys(ja).sort(), Object.keys(en).sort());
    for (const [key, value] of Object.entries(en)) {
      if (typeof value === 'object') compare(value as never, ja[key] as never, `${path}${key}.`);
      else if (typeof value === 'string' && value === ja[key]) same.push(path + key);
    }
  };
  compare(words.en, words.ja, '');
  assert.deepEqual(same, []);
});
