// The other parts of the stack.

import { code, cut, duration, facts, h, link, many, now, section, soft, table, title } from './dom.js';
import { nothing, send } from './functions.js';
import { get } from './requests.js';

export const queue = {
  of: (stack) => stack.turn,
  load: (name) => get('/_local/messages', { queue: name }),
  draw(stack, { items, max }, name) {
    const own = stack.queues.find((one) => one.name === name);
    const readers = stack.mappings.filter((mapping) => mapping.queue === name).map((mapping) => mapping.function);
    const sources = stack.queues.filter((one) => one.deadLetterQueue === name).map((one) => one.name);
    const keys = items.map((item) => item.id);
    const rows = items.map((item) => [
      h(
        'details',
        { 'data-key': item.id },
        h('summary', {}, item.body.slice(0, 120)),
        code('Body', item.id, item.body),
        cut(item.bodyIsCut, item.bodyBytes),
        Object.keys(item.attributes).length > 0 &&
          code('Attributes', `${item.id} attributes`, JSON.stringify(item.attributes)),
      ),
      item.state + (item.state === 'visible' ? '' : `, ${item.visibleInSeconds} s`),
      item.receiveCount,
      item.deadLetterSource ?? item.group ?? '',
      now(item.sentMs),
    ]);
    return [
      title(
        name,
        soft(
          sources.length
            ? `The dead-letter queue of ${sources.join(', ')}.`
            : 'Looking at messages receives none of them.',
        ),
      ),
      own &&
        facts(
          ['Visible', own.waiting],
          ['In flight', own.inFlight],
          ['Delayed', own.delayed],
          own.deadLetterQueue && ['Dead-letter queue', link(['queue', own.deadLetterQueue], own.deadLetterQueue)],
          readers.length > 0 && ['Read by', readers.map((reader) => [link(['function', reader], reader), ' '])],
        ),
      section(
        'Messages',
        items.length
          ? [
              table('Messages', ['+Body', 'State', '#Received', 'From or group', 'Sent'], rows, keys),
              soft(`The first ${max} at most.`),
            ]
          : nothing('The queue is empty. To send a message:', [send(stack, name)]),
      ),
    ];
  },
};

/** An attribute as plain JSON, for a line. */
function plain(value) {
  const [[kind, inner] = []] = Object.entries(value ?? {});
  if (kind === 'M')
    return `{${Object.entries(inner)
      .map(([name, of]) => `${name}: ${plain(of)}`)
      .join(', ')}}`;
  if (kind === 'L') return `[${inner.map(plain).join(', ')}]`;
  if (kind === 'NULL') return 'null';
  return kind === 'S' ? JSON.stringify(inner) : Array.isArray(inner) ? `[${inner.join(', ')}]` : String(inner);
}

export const tables = {
  of: () => '',
  load: (name, index, partition, start) => get('/_local/items', { table: name, index, partition, start }),
  draw(stack, { items, last }, name, index = '', partition = '', start = '') {
    const own = stack.tables.find((one) => one.name === name);
    const keys = index ? (own.indexes.find((one) => one.name === index)?.keys ?? []) : own.keys;
    const text = (value) => value?.S ?? value?.N ?? value?.B ?? '';
    const rows = items.map((item) => {
      const rest = Object.entries(item).filter(([attribute]) => !keys.includes(attribute));
      const line = rest.map(([attribute, value]) => `${attribute}: ${plain(value)}`).join(', ');
      const whole = JSON.stringify(item);
      return [
        ...keys.map((key, i) => (i ? text(item[key]) : link(['table', name, index, text(item[key])], text(item[key])))),
        h(
          'details',
          { 'data-key': whole },
          h('summary', {}, line.slice(0, 160) || '(only the key)'),
          code('Item', whole, whole),
        ),
      ];
    });
    const option = (value, label) => h('option', { value, selected: value === index }, label);
    const empty = partition ? 'No item has this partition key.' : 'There is no item.';
    return [
      title(
        name,
        soft(
          `Key ${own.keys.join(', ')}`,
          own.ttl && ` · expires by ${own.ttl}`,
          own.stream && ` · stream of ${own.stream.toLowerCase().replaceAll('_', ' ')}`,
          ' · read only',
        ),
      ),
      h(
        'form',
        { class: 'row', 'data-do': 'find', 'data-table': name, 'data-key': `${name} ${index} ${partition}` },
        own.indexes.length > 0 &&
          h(
            'label',
            {},
            'Read',
            h(
              'select',
              { name: 'index' },
              option('', 'the table'),
              own.indexes.map((one) => option(one.name, `${one.name} (${one.keys.join(', ')})`)),
            ),
          ),
        h(
          'label',
          {},
          'Partition key',
          h('input', { name: 'partition', value: partition, placeholder: keys[0], spellcheck: 'false' }),
        ),
        h('button', { class: 'go' }, partition ? 'Query' : 'Read'),
      ),
      section(
        'Items',
        items.length ? table('Items', [...keys, '+Attributes'], rows) : nothing(empty, []),
        h(
          'p',
          { class: 'row' },
          start && link(['table', name, index, partition], 'First page'),
          last && link(['table', name, index, partition, JSON.stringify(last)], 'Next page'),
        ),
      ),
    ];
  },
};

/** The link to a receiver. */
const to = (target) => {
  const [[kind, name]] = Object.entries(target);
  return [kind === 'function' || kind === 'queue' ? link([kind, name], name) : `${kind} ${name}`, ' '];
};

export const triggers = {
  of: () => '',
  load: async () => ({}),
  draw: (stack) => [
    title('Triggers', soft('Streams, queues and schedules that invoke functions.')),
    section(
      'Event source mappings',
      stack.mappings.length
        ? table(
            'Event source mappings',
            ['Source', 'Function', 'State', '#Batch', '#Waiting', '#Iterator age', 'Failures'],
            stack.mappings.map((one) => [
              one.queue ? link(['queue', one.queue], one.source) : one.source,
              link(['function', one.function], one.function),
              one.lostAt
                ? h('span', { class: 'bad' }, `records lost ${now(one.lostAt)}`)
                : !one.enabled
                  ? 'disabled'
                  : one.queue
                    ? 'on'
                    : one.isCaughtUp
                      ? 'caught up'
                      : 'reading',
              one.batchSize,
              one.queue ? (stack.queues.find((queue) => queue.name === one.queue)?.waiting ?? '') : one.waitingRecords,
              one.iteratorAgeMs === undefined ? '' : duration(one.iteratorAgeMs),
              one.failureQueue ? `${one.failureQueue.name}: ${one.failureQueue.messages}` : '',
            ]),
          )
        : soft('The template has none.'),
    ),
    section(
      'Schedules',
      stack.schedules.length
        ? table(
            'Schedules',
            ['Schedule', 'Function', 'Next'],
            stack.schedules.map((one) => [
              one.expression + (one.timeZone ? ` ${one.timeZone}` : ''),
              link(['function', one.function], one.function),
              one.enabled ? (one.nextAt ? now(one.nextAt) : 'never again') : 'disabled',
            ]),
          )
        : soft('The template has none.'),
    ),
  ],
};

export const events = {
  of: (stack) => stack.events,
  load: () => get('/_local/events'),
  draw: (stack, { items }) => [
    title('Events', soft('Buses and topics, and the newest events of all buses.')),
    section(
      'Newest events',
      items.length
        ? table(
            'Newest events',
            ['Time', 'Bus', 'Source', 'Rules', '+Event'],
            items.map(({ bus, busExists, rules, event }) => [
              now(event.time),
              busExists ? bus : h('span', { class: 'bad' }, `${bus} (no such bus)`),
              event.source,
              rules.map((rule) => rule.name).join(', ') || 'none',
              h(
                'details',
                { 'data-key': event.id },
                h('summary', {}, event['detail-type']),
                code('Event', event.id, JSON.stringify(event)),
              ),
            ]),
            items.map(({ bus, event }) => `${bus} ${event.id}`),
          )
        : soft('No event came yet.'),
    ),
    section(
      'Buses',
      table(
        'Buses',
        ['Bus', 'Rule', 'Targets', '+Pattern'],
        stack.buses.flatMap((bus) =>
          (bus.rules.length ? bus.rules : [null]).map((rule) => [
            bus.name,
            rule ? rule.name + (rule.enabled ? '' : ' (disabled)') : 'no rule',
            rule ? rule.targets.map(to) : '',
            rule ? h('code', {}, JSON.stringify(rule.pattern)) : '',
          ]),
        ),
      ),
    ),
    stack.topics.length > 0 &&
      section(
        'Topics',
        table(
          'Topics',
          ['Topic', '+Subscriptions'],
          stack.topics.map((topic) => [topic.name, topic.targets.map(to)]),
        ),
      ),
  ],
};

export const mail = {
  of: (stack) => stack.mails,
  load: () => get('/_local/mail'),
  draw: (_, { items }) => [
    title(
      'Mail',
      soft(
        'Mails that functions sent. Nothing is delivered. ',
        h('a', { href: '/_local/mail' }, 'With their HTML parts'),
      ),
    ),
    items.length
      ? table(
          'Mails',
          ['Sent', 'To', '+Subject'],
          items.map((one) => [
            now(one.sentAt),
            one.to.join(', '),
            h(
              'details',
              { 'data-key': one.messageId },
              h('summary', {}, one.subject),
              code('Text', one.messageId, one.text ?? '(no text part)'),
            ),
          ]),
          items.map((one) => one.messageId),
        )
      : soft('No mail yet.'),
  ],
};

const kinds = {
  http: 'HTTP API',
  rest: 'REST API',
  functionUrl: 'function URL',
  loadBalancer: 'load balancer',
  webSocket: 'WebSocket API',
};
export const addresses = {
  of: () => '',
  load: async () => ({}),
  draw: (stack) => [
    title('Addresses', soft('For any AWS client: any region and credentials.')),
    facts(
      ['DynamoDB', h('code', {}, stack.addresses.dynamodb)],
      stack.addresses.s3 && ['S3', h('code', {}, stack.addresses.s3)],
      ['Lambda', h('code', {}, stack.addresses.http)],
      stack.buckets.length > 0 && ['Buckets', stack.buckets.join(', ')],
    ),
    stack.apis.map((api) =>
      section(
        `${api.name} · ${kinds[api.kind]}`,
        h('code', {}, api.url),
        api.connections === undefined ? null : soft(many(api.connections, 'connection')),
        table(
          api.name,
          ['+Route', 'Function'],
          api.routes.map((route) => [
            route.key,
            route.function ? link(['function', route.function], route.function) : 'fixed response',
          ]),
        ),
      ),
    ),
  ],
};
