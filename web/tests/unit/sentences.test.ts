import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sentences } from '../../src/shared/sentences.ts';

test('joined sentences end with one punctuation mark each', () => {
  assert.equal(sentences('en', ['You got it!', 'けん got it!']), 'You got it! けん got it!');
  assert.equal(
    sentences('en', ['あんず has come in', 'Ann: hello', 'Bo: why?']),
    'あんず has come in. Ann: hello. Bo: why?',
  );
  assert.equal(
    sentences('ja', ['正解!', 'あんずさんが来ました', 'けん:「え？」']),
    '正解!あんずさんが来ました。けん:「え？」',
  );
  assert.equal(sentences('ja', []), '');
});
