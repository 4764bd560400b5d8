// Shows what the local stack runs, and what it did.

import { h, link, morph, title } from './dom.js';
import { activity, functions } from './functions.js';
import { addresses, events, mail, queue, tables, triggers } from './parts.js';
import { Gone, Refused, get, invoke, tell } from './requests.js';

const POLL_MS = 1500;

const main = document.getElementById('main');
const nav = document.getElementById('nav');
const health = document.getElementById('health');
const parts = document.getElementById('parts');

/** The data of the open view, and what it was loaded for. */
let shown = { key: '', data: undefined };
let timer;
let turn = 0;

const views = { '': activity, function: functions, queue, table: tables, triggers, events, mail, addresses };

// The list of parts

function list(stack, path) {
  const entry = (to, name, count, kind) => {
    const element = link(to, h('span', {}, name), count ? h('span', { class: kind ?? 'soft' }, count) : h('span'));
    const isOpen = to[0] === (path[0] ?? '') && (to[1] === undefined || to[1] === path[1]);
    if (isOpen) element.setAttribute('aria-current', 'page');
    return h('li', {}, element);
  };
  const group = (name, entries) => entries.length > 0 && [h('h2', {}, name), h('ul', {}, entries)];
  const count = (one) => (one.errors ? `${one.errors} failed` : one.busy ? 'runs' : one.invocations || '');
  const waiting = (one) => one.waiting + one.inFlight + one.delayed || '';
  const isDead = (name) => stack.queues.some((one) => one.deadLetterQueue === name);
  return h(
    'nav',
    { id: 'nav', 'aria-label': 'Parts of the stack', class: nav.className || null },
    h(
      'ul',
      {},
      entry([''], 'Activity'),
      entry(['addresses'], 'Addresses'),
      entry(['triggers'], 'Triggers'),
      entry(['events'], 'Events', stack.events),
      entry(['mail'], 'Mail', stack.mails[0]),
    ),
    group(
      'Functions',
      stack.functions.map((one) => entry(['function', one.id], one.id, count(one), one.errors ? 'bad' : undefined)),
    ),
    group(
      'Queues',
      stack.queues.map((one) =>
        entry(['queue', one.name], one.name, waiting(one), isDead(one.name) && waiting(one) ? 'bad' : undefined),
      ),
    ),
    group(
      'Tables',
      stack.tables.map((one) => entry(['table', one.name], one.name)),
    ),
  );
}

// Updates

/** The parts of the address; those of a broken one are none. */
function route() {
  try {
    return location.hash
      .replace(/^#\/?/, '')
      .split('/')
      .filter((part, i) => part || i)
      .map(decodeURIComponent);
  } catch {
    return [];
  }
}

async function refresh() {
  clearTimeout(timer);
  const mine = ++turn;
  const path = route();
  const [name = '', ...args] = path;
  const view = views[name] ?? activity;
  try {
    const stack = { ...(await get('/_local/state')), turn: mine };
    if (mine !== turn) return;
    morph(nav, list(stack, path));
    const key = JSON.stringify([path, view.of(stack, ...args)]);
    if (key !== shown.key) {
      const data = await view.load(...args);
      if (mine !== turn) return;
      shown = { key, data };
    }
    draw(path, view.draw(stack, shown.data, ...args));
    health.className = '';
    health.textContent = stack.isUp ? `Running at ${stack.addresses.http}` : 'Starting…';
  } catch (error) {
    if (mine !== turn) return;
    if (error instanceof Refused)
      draw(path, [title(args[0] ?? 'Local stack'), h('p', { class: 'bad' }, `${error.message}.`)]);
    else if (error instanceof Gone) {
      health.className = 'gone';
      health.textContent = 'The stack does not respond. The numbers are old.';
    } else throw error;
  } finally {
    if (mine === turn && !document.hidden) timer = setTimeout(refresh, POLL_MS);
  }
}

let drawn;
function draw(path, children) {
  morph(main, h('main', { id: 'main' }, ...children));
  document.title = `${[path[1] ?? main.querySelector('h1')?.textContent, 'Local stack'].filter(Boolean).join(' · ')}`;
  if (drawn !== undefined && drawn !== location.hash) {
    const active = document.activeElement;
    // A link of the list that is still there keeps the focus.
    if (!active || active === document.body || !active.checkVisibility())
      /** @type {HTMLElement} */ (main.querySelector('.split h2[tabindex], h1'))?.focus();
  }
  drawn = location.hash;
}

const actions = {
  copy: async (button) => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    tell('Copied.');
  },
  again: (button) => invoke(button.dataset.function, shown.data.one.event),
};

document.addEventListener('click', (event) => {
  const button = /** @type {HTMLElement} */ (event.target).closest('button');
  if (button?.dataset.do) actions[button.dataset.do](button);
});

document.addEventListener('submit', (event) => {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  const fields = new FormData(form);
  if (form.dataset.do === 'invoke') return invoke(form.dataset.function, fields.get('event'));
  const to = link(['table', form.dataset.table, fields.get('index') ?? '', fields.get('partition')]).hash;
  // The same address again reads the items again.
  shown.key = '';
  if (location.hash === to) void refresh();
  else location.hash = to;
});

parts.addEventListener('click', () => parts.setAttribute('aria-expanded', String(nav.classList.toggle('open'))));
addEventListener('hashchange', () => {
  nav.classList.remove('open');
  parts.setAttribute('aria-expanded', 'false');
  if (route().length < 3) scrollTo(0, 0);
  void refresh();
});
document.addEventListener('visibilitychange', () => !document.hidden && refresh());
void refresh();
