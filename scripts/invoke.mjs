// Sends a sample event to a function through the stack's Invoke API: see scripts/invoke.
//
// The events contain tokens of the test data, which no running stack accepts. This script replaces
// them: tokens of staff, operator and health administration by the stack's own, the token of a user
// by a session that it opens, and a player's token by one that is signed with the stack's key.
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [stack, name, file] = process.argv.slice(2);
const event = JSON.parse(readFileSync(file, 'utf8'));

/** Tokens of the sample events, and the names of the stack's secrets that replace them. */
const secrets = {
  'token-of-the-sample-events': 'staff-token',
  'operator-token-of-the-sample-events': 'operator-token',
  'health-token-of-the-sample-events': 'health-token',
};

/** The key that signs players' tokens in the sample events. */
const SAMPLE_KEY = 'key-of-the-sample-events';
const TAG_BYTES = 32;

/** Prints a message and exits with 1. */
function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}

async function ask(path, options = {}) {
  try {
    return await fetch(stack + path, options);
  } catch {
    fail(`There is no local stack on ${stack}. Start it first: make run`);
  }
}

async function post(path, body, headers = {}) {
  const answer = await ask(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!answer.ok) fail(`${path} answers ${answer.status}: ${await answer.text()}`);
  return answer;
}

async function secret(of) {
  const target = { 'x-amz-target': 'secretsmanager.GetSecretValue' };
  const answer = await post('/_local/secretsmanager', { SecretId: `tidemark/local/${of}` }, target);
  return (await answer.json()).SecretString;
}

/** Signs in with a mailed code, as the page does, and returns the session's token. */
async function session() {
  const email = 'ann@example.com';
  await post('/okusuri/api/sign-in/email', { email }, { origin: stack });
  const mails = await ask('/_local/mail', { headers: { accept: 'application/json' } });
  const mail = (await mails.json()).items.find(({ to }) => to.includes(email));
  const code = /^\s*(\d{6})\s*$/m.exec(mail?.text)?.[1] ?? fail('No sign-in code arrived by mail.');
  const proof = { email, code, timeZone: 'Asia/Tokyo' };
  const answer = await post('/okusuri/api/sign-in/email/verify', proof, { origin: stack });
  return /^[^=]+=([^;]+)/.exec(answer.headers.get('set-cookie'))?.[1];
}

/** The same tag as `crates/lambda-kit/src/signed.rs` computes. */
function tag(key, purpose, signed) {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(purpose.length));
  return createHmac('sha256', key).update(length).update(purpose).update(signed).digest();
}

/** Signs a token again with the stack's key if the sample key signed it; returns any other token unchanged. */
async function player(token) {
  const bytes = Buffer.from(token, 'base64url');
  const signed = bytes.subarray(0, -TAG_BYTES);
  if (!tag(SAMPLE_KEY, 'player', signed).equals(bytes.subarray(-TAG_BYTES))) return token;
  return Buffer.concat([signed, tag(await secret('game-key'), 'player', signed)]).toString('base64url');
}

async function known(token) {
  if (Object.hasOwn(secrets, token)) return secret(secrets[token]);
  if (token === 'token-of-ann') return session();
  return player(token);
}

const bearer = /^Bearer (.+)$/.exec(event.headers?.authorization ?? '');
if (bearer) event.headers.authorization = `Bearer ${await known(bearer[1])}`;

const answer = await ask(`/2015-03-31/functions/${name}/invocations`, { method: 'POST', body: JSON.stringify(event) });
console.log(await answer.text());
if (!answer.ok || answer.headers.has('x-amz-function-error')) process.exit(1);
