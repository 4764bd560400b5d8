// The activity of all functions, and one function with its invocations. Of a view, `of` says what its
// data depends on, `load` reads the data, and `draw` shows it.

import { code, command, cut, duration, facts, h, link, many, now, pretty, size, soft, table, title } from './dom.js';
import { Refused, busy, get } from './requests.js';

/** A request to a route. */
const first = (address, key) => {
  const [method, path] = key.includes(' ') ? key.split(' ') : ['GET', '/'];
  const url = address.replace(/\/$/, '') + path.replace(/\{[^}]*\}/g, '1');
  const has = !['GET', 'ANY', 'HEAD', 'DELETE'].includes(method);
  return `curl ${method === 'ANY' || method === 'GET' ? '' : `-X ${method} `}${has ? "-H 'content-type: application/json' -d '{}' " : ''}'${url}'`;
};

/** A command that sends a message. */
export const send = (stack, queue) =>
  `aws sqs send-message --endpoint-url ${stack.addresses.http}/_local/sqs --queue-url ${stack.addresses.http}/000000000000/${queue} --message-body '{}'`;

/** Commands that let a function run. */
function tries(stack, name) {
  const routes = stack.apis
    .filter((api) => api.kind !== 'webSocket')
    .flatMap((api) => api.routes.filter((route) => route.function === name).map((route) => first(api.url, route.key)));
  const queues = stack.mappings
    .filter((mapping) => mapping.queue && mapping.function === name)
    .map((mapping) => send(stack, mapping.queue));
  return [...routes, ...queues];
}

/** What an empty list says, with commands to try. */
export const nothing = (text, commands) =>
  h('div', { class: 'empty' }, h('p', {}, text), commands.slice(0, 3).map(command));

const mark = (status, error) =>
  status === 'ok' ? 'ok' : h('span', { class: status === 'failed' ? 'bad' : 'soft', title: error }, status);

function runs(items, withFunction, current) {
  const columns = ['Start', 'Result', ...(withFunction ? ['Function'] : []), '+Trigger', '#Duration'];
  return table(
    'Invocations',
    columns,
    items.map((item) => {
      const start = link(['function', item.function, item.requestId], now(item.startedAt));
      if (item.requestId === current) start.setAttribute('aria-current', 'true');
      const cold = item.initMs === null || current ? '' : ` + ${duration(item.initMs)} init`;
      return [
        start,
        mark(item.status, item.error),
        ...(withFunction ? [item.function] : []),
        item.trigger,
        duration(item.durationMs) + cold,
      ];
    }),
    items.map((item) => item.requestId),
  );
}

export const activity = {
  of: (stack) => stack.functions.map((one) => one.changes),
  load: () => get('/_local/invocations'),
  draw(stack, { items, kept }) {
    const api = stack.apis.find((api) => api.kind !== 'webSocket' && api.routes.length);
    const queue = stack.mappings.find((mapping) => mapping.queue)?.queue;
    const commands = [api && first(api.url, api.routes[0].key), queue && send(stack, queue)].filter(Boolean);
    const empty = commands.length
      ? 'Nothing has run yet. For example:'
      : 'Nothing has run yet. Choose a function, and invoke it.';
    return [
      title('Activity', soft('The newest invocations of all functions.')),
      items.length ? runs(items, true) : nothing(empty, commands),
      soft(`Of each function, ${kept.invocations} invocations or ${size(kept.bytes)} are kept, in memory.`),
    ];
  },
};

const triggersOf = (stack, name) => [
  ...stack.apis.flatMap((api) =>
    api.routes.filter((route) => route.function === name).map((route) => `${route.key} of ${api.name}`),
  ),
  ...stack.mappings
    .filter((mapping) => mapping.function === name)
    .map((mapping) => mapping.source + (mapping.enabled ? '' : ' (disabled)')),
  ...stack.schedules
    .filter((schedule) => schedule.function === name)
    .map((schedule) => schedule.expression + (schedule.nextAt ? `, next ${now(schedule.nextAt)}` : ' (disabled)')),
  ...stack.buses.flatMap((bus) =>
    bus.rules
      .filter((rule) => rule.targets.some((target) => target.function === name))
      .map((rule) => `rule ${rule.name} of ${bus.name}`),
  ),
  ...stack.topics
    .filter((topic) => topic.targets.some((target) => target.function === name))
    .map((topic) => `topic ${topic.name}`),
];

/** A form for another event. `of` keeps the text of one invocation from staying in the next one. */
const editor = (name, of, event, isOpen) =>
  h(
    'details',
    { 'data-key': of, open: isOpen },
    h('summary', {}, 'Invoke with an event'),
    h(
      'form',
      { 'data-do': 'invoke', 'data-function': name },
      h('label', {}, 'Event, JSON', h('textarea', { name: 'event', spellcheck: 'false', 'data-whole': '1' }, event)),
      h('p', {}, h('button', { class: 'go', disabled: busy.has(name) }, 'Invoke')),
    ),
  );

function invocation(name, one, kept) {
  const key = (what) => `${one.requestId} ${what} ${one.status}`;
  const answer =
    one.answer === null
      ? soft(
          one.status === 'running'
            ? 'It is still running.'
            : 'The answer went to the caller part by part, and is not kept.',
        )
      : [
          code(one.error === null ? 'Answer' : 'Error', key('answer'), one.answer, one.error === null ? null : 'bad'),
          cut(one.answerIsCut, one.answerBytes),
        ];
  const log = one.log.join('\n');
  return h(
    'section',
    {},
    h('p', { class: 'back' }, link(['function', name], '← All invocations')),
    h(
      'div',
      { class: 'row' },
      h('h2', { tabindex: '-1' }, one.trigger),
      h(
        'button',
        { class: 'go', 'data-do': 'again', 'data-function': name, disabled: one.eventIsCut || busy.has(name) },
        'Invoke again',
      ),
    ),
    facts(
      ['Start', now(one.startedAt)],
      ['Result', mark(one.status)],
      ['Duration', duration(one.durationMs) || '–'],
      one.initMs !== null && ['Init', duration(one.initMs)],
      one.billedMs !== null && ['Billed', `${one.billedMs} ms`],
      one.memoryMib !== null && ['Memory', `${one.memoryMib} MB`],
      ['Request id', h('code', {}, one.requestId)],
    ),
    h('h3', {}, one.error === null ? 'Answer' : 'Error'),
    answer,
    h('h3', {}, 'Log'),
    log ? code('Log', `${one.requestId} log ${log.length}`, log) : soft('It printed nothing.'),
    h('h3', {}, 'Event'),
    code('Event', key('event'), one.event),
    one.eventIsCut
      ? soft(`The first ${size(kept.textBytes)} of ${size(one.eventBytes)}. It cannot be sent again.`)
      : editor(name, one.requestId, pretty(one.event)),
  );
}

export const functions = {
  of: (stack, name) => stack.functions.find((one) => one.id === name)?.changes,
  async load(name, id) {
    const list = await get('/_local/invocations', { function: name });
    try {
      return { ...list, one: id && (await get('/_local/invocations', { function: name, id })) };
    } catch (error) {
      if (error instanceof Refused) return { ...list, gone: error.message };
      throw error;
    }
  },
  draw(stack, { items, kept, one, gone }, name, id) {
    const own = stack.functions.find((one) => one.id === name);
    if (!own) throw new Refused('no function has this name');
    const about = [own.binary, own.name].filter((text, i, all) => text !== name && all.indexOf(text) === i).join(' · ');
    const triggers = triggersOf(stack, name);
    const isEmpty = items.length === 0;
    const list = h(
      'section',
      {},
      h('h2', {}, 'Invocations'),
      isEmpty ? nothing('It has not run yet.', tries(stack, name)) : runs(items, false, id),
      soft(
        `The newest ${kept.invocations}, or ${size(kept.bytes)} of events and answers. Of a log, the last ${size(kept.logBytes)}.`,
      ),
      !id && editor(name, `${name} new`, '{}', isEmpty),
    );
    const detail = one
      ? invocation(name, one, kept)
      : gone && h('section', {}, soft(gone), link(['function', name], 'All invocations'));
    return [
      title(name, about && soft(about)),
      !id &&
        facts(
          ['Invocations', own.invocations],
          ['Errors', own.errors ? h('span', { class: 'bad' }, own.errors) : 0],
          ['Instances', `${own.busy} busy, ${own.idle} idle`],
          ['Memory', `${own.memoryMib} MB`],
          ['Timeout', `${own.timeoutS} s`],
        ),
      !id &&
        triggers.length > 0 &&
        h(
          'details',
          { 'data-key': name, open: triggers.length < 4 },
          h('summary', {}, many(triggers.length, 'trigger')),
          h(
            'ul',
            {},
            triggers.map((text) => h('li', {}, text)),
          ),
        ),
      own.lastError && !id && h('p', { class: 'bad' }, `Last error: ${own.lastError}`),
      h('div', { class: detail ? 'split' : null }, list, detail),
    ];
  },
};
