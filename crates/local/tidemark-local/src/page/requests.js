// Requests to the stack.

import { isJson } from './dom.js';

/** The stack's reason for not answering. */
export class Refused extends Error {}

/** There is no answer. */
export class Gone extends Error {}

export async function get(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const url = given.length ? `${path}?${new URLSearchParams(given)}` : path;
  const [answer, body] = await fetch(url, { headers: { accept: 'application/json' } })
    .then(async (answer) => [answer, await answer.json()])
    .catch((cause) => {
      throw new Gone(path, { cause });
    });
  if (!answer.ok) throw new Refused(body.message);
  return body;
}

/** The functions that the page invokes now. */
export const busy = new Set();

/** Sends an event to a function, and opens the invocation. */
export async function invoke(name, event) {
  if (!isJson(event)) return tell('The event is no JSON.');
  busy.add(name);
  tell(`${name} runs…`);
  try {
    const answer = await fetch(`/2015-03-31/functions/${encodeURIComponent(name)}/invocations`, {
      method: 'POST',
      body: event,
    });
    const id = answer.headers.get('x-amzn-requestid');
    if (!id) return tell(`Not invoked: ${(await answer.json()).Message ?? answer.statusText}`);
    tell(answer.headers.has('x-amz-function-error') ? `${name} failed.` : `${name} answered.`);
    location.hash = `#/function/${encodeURIComponent(name)}/${id}`;
  } catch {
    tell('The stack does not respond.');
  } finally {
    busy.delete(name);
  }
}

let quiet;
export function tell(text) {
  document.getElementById('notice').textContent = text;
  clearTimeout(quiet);
  quiet = setTimeout(() => (document.getElementById('notice').textContent = ''), 5000);
}
