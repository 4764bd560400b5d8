import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoopbackHost, pagesAt } from '../../src/shared/pages.ts';

test('the operator’s page is listed only on the local machine', () => {
  const listed = (host: string): boolean => pagesAt(host).some(({ path }) => path === '/operator/');
  for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '[::1]']) assert.ok(listed(host), host);
  for (const host of ['d111.cloudfront.net', '192.168.1.5', 'localhost.example.org', '127.0.0.1.example.org', '']) {
    assert.ok(!listed(host), host);
    assert.ok(!isLoopbackHost(host), host);
  }
});

test('every system is listed everywhere', () => {
  const paths = pagesAt('tidemark.example.org').map(({ path }) => path);
  assert.deepEqual(paths, ['/tide/', '/game/', '/shop/', '/okusuri/', '/lately/']);
});
