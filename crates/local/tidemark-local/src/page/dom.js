// Elements and texts of the page. Texts of events and items only become text nodes.

/** Longer texts get no colours: their elements would slow the page down. */
const COLOURED_CHARS_MAX = 30_000;
/** Deeper levels of JSON are not indented further: the spaces would grow with the square of the depth. */
const INDENT_MAX = 30;

/** Makes an element. A child is an element, a text, a list of children, or nothing. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false && value !== null)
      element.setAttribute(name, value === true ? '' : value);
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false),
  );
  return element;
}

/**
 * Makes one element like another, and keeps what is equal: focus, selections and open details stay. Children
 * with a `data-key` are found again by it.
 */
export function morph(from, to) {
  if (from.nodeName !== to.nodeName || from.dataset?.key !== to.dataset?.key) return from.replaceWith(to);
  if (from.nodeType === Node.TEXT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return;
  }
  for (const { name } of [...from.attributes])
    if (name !== 'open' && !to.hasAttribute(name)) from.removeAttribute(name);
  for (const { name, value } of to.attributes) {
    if (name !== 'open' && from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  if (from.dataset.whole) return;
  const keyed = new Map([...from.childNodes].map((child) => [child.dataset?.key, child]));
  const children = [...to.childNodes];
  children.forEach((child, i) => {
    const [key, at] = [child.dataset?.key, from.childNodes[i]];
    const own = key ? keyed.get(key) : at;
    // An event may be on one bus twice.
    keyed.delete(key);
    if (own !== at || !own) from.insertBefore(own ?? child, at ?? null);
    if (own) morph(own, child);
  });
  [...from.childNodes].slice(children.length).forEach((child) => child.remove());
}

export const link = (path, ...children) => h('a', { href: `#/${path.map(encodeURIComponent).join('/')}` }, ...children);
export const soft = (...children) => h('p', { class: 'soft' }, ...children);
export const facts = (...pairs) =>
  h(
    'dl',
    {},
    pairs.filter(Boolean).map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  );
export const section = (heading, ...children) => h('section', {}, h('h2', {}, heading), ...children);
export const title = (text, ...below) => h('div', {}, h('h1', { tabindex: '-1' }, text), ...below);

/**
 * A table. A column that begins with `#` has numbers, and one with `+` takes the rest of the width. `keys` name
 * rows that may move.
 */
export function table(caption, columns, rows, keys = []) {
  const kind = (i) => ({ '#': 'number', '+': 'wide' })[columns[i][0]];
  const head = columns.map((name, i) => h('th', { scope: 'col', class: kind(i) }, name.replace(/^[#+]/, '')));
  const body = rows.map((cells, row) =>
    h(
      'tr',
      { 'data-key': keys[row] },
      cells.map((cell, i) => h(i ? 'td' : 'th', { class: kind(i), scope: i ? null : 'row' }, cell)),
    ),
  );
  return h(
    'div',
    { class: 'scroll', role: 'region', 'aria-label': caption, tabindex: '0' },
    h('table', {}, h('thead', {}, h('tr', {}, head)), h('tbody', {}, body)),
  );
}

/** A command to try, with a button that copies it. */
export const command = (text) =>
  h(
    'div',
    { class: 'command' },
    h('pre', { tabindex: '0', role: 'group', 'aria-label': 'Command' }, text),
    h('button', { 'data-do': 'copy', class: 'small' }, 'Copy'),
  );

const CLOCK = /** @type {const} */ ({ hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** The time of day, with the date unless it is today's. */
export const now = (time) => {
  const date = new Date(time);
  const clock = date.toLocaleTimeString('en-GB', { ...CLOCK, fractionalSecondDigits: 3 });
  return date.toDateString() === new Date().toDateString() ? clock : `${date.toLocaleDateString('en-CA')} ${clock}`;
};
export function duration(ms) {
  if (ms === null || ms === undefined) return '';
  return ms < 1000 ? `${short(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}
export function size(bytes) {
  const [unit, of] = bytes < 1024 ? ['bytes', 1] : bytes < 1024 ** 2 ? ['KB', 1024] : ['MB', 1024 ** 2];
  return `${short(bytes / of)} ${unit}`;
}
const short = (number) => number.toFixed(1).replace(/\.0$/, '');
export const many = (count, one) => `${count} ${one}${count === 1 ? '' : 's'}`;

export function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Indents JSON without parsing it, so that numbers and the order of keys stay as they came. */
export function pretty(text) {
  if (!isJson(text)) return text;
  let depth = 0;
  const line = () => `\n${'  '.repeat(Math.min(depth, INDENT_MAX))}`;
  return text.replace(/"(?:\\.|[^"\\])*"|\{\s*\}|\[\s*\]|[{}[\],:]|\s+/g, (token) => {
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') {
      depth -= 1;
      return line() + token;
    }
    if (token === '{' || token === '[' || token === ',') return token + line();
    if (token === ':') return ': ';
    return token.startsWith('"') ? token : token.replace(/\s+/g, '');
  });
}

/** JSON with colours, or another text as it is. `of` names the text: equal names have equal texts. */
export function code(label, of, text, kind) {
  const lines = pretty(text);
  const element = h('pre', {
    tabindex: '0',
    role: 'group',
    'aria-label': label,
    class: kind,
    'data-key': of,
    'data-whole': '1',
  });
  if (lines === text || lines.length > COLOURED_CHARS_MAX) {
    element.append(lines);
    return element;
  }
  let from = 0;
  for (const found of lines.matchAll(/("(?:\\.|[^"\\])*")(:?)|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g)) {
    const [whole, string, colon] = found;
    const name = string ? (colon ? 'key' : 'string') : 'literal';
    element.append(lines.slice(from, found.index), h('span', { class: name }, string ?? whole), colon ?? '');
    from = found.index + whole.length;
  }
  element.append(lines.slice(from));
  return element;
}

/** Says so if a text is only the first part of one with so many bytes. */
export const cut = (isCut, bytes) => isCut && soft(`Only the first part is kept; it has ${size(bytes)}.`);
