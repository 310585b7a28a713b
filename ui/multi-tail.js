// The output of several jobs at once, line by line with their names.

/** @import {LogLine} from './types.js' */
import { pieces, plain } from './ansi.js';
import { button, h, isolated, setAttribute, setText } from './dom.js';
import { open } from './dialog.js';
import { followOutput } from './follow-output.js';
import { store } from './store.js';

// Browsers allow six connections to one host; the page needs two itself, and the log of an
// open job another one.
const mostStreams = () => (document.querySelector('job-drawer:not([hidden]) .panel:not([hidden]) > log-view') ? 3 : 4);
const mostLines = 2000;

/**
 * Opens the tail of some jobs.
 * @param {string[]} names
 */
export function openTail(names) {
  const text = h('div', { class: 'lines wrap tail', role: 'log', 'aria-live': 'off', 'aria-label': 'Output', tabindex: '0', 'data-testid': 'tail-lines' });
  const chosen = h('div', { class: 'tail-jobs' });
  const search = h('input', { type: 'search', placeholder: 'Show lines with', 'aria-label': 'Show lines with', spellcheck: 'false' });
  const hint = h('span', { class: 'dim', role: 'status' });
  /** @type {Map<string, {stop: AbortController, hue: number}>} */
  const streams = new Map();
  /** @type {string[]} */
  const raw = [];

  const fits = (/** @type {Element} */ line) => line.textContent?.toLowerCase().includes(search.value.toLowerCase()) ?? true;
  const put = (/** @type {HTMLElement} */ line) => {
    const below = text.scrollHeight - text.scrollTop - text.clientHeight < 40;
    line.hidden = search.value !== '' && !fits(line);
    text.append(line);
    while (text.childElementCount > mostLines) {
      text.firstElementChild?.remove();
      raw.shift();
    }
    if (below) {
      text.scrollTop = text.scrollHeight;
    }
  };
  const add = (/** @type {string} */ name, /** @type {number} */ hue, /** @type {LogLine} */ line) => {
    raw.push(`${name}\t${plain(line.line)}`);
    put(h('div', { class: `line ${line.stream}` }, isolated(name, `who hue-${hue}`),
      h('span', { class: 'said', dir: 'auto' }, ...pieces(line.line).map((piece) => (piece.classes ? h('span', { class: piece.classes, text: piece.text }) : piece.text)))));
  };

  const list = () => {
    chosen.replaceChildren(...[...streams].map(([name, { hue }]) => h('span', { class: `chip hue-${hue}` }, isolated(name),
      button('✕', () => remove(name), { class: 'plain', 'aria-label': `Leave out ${name}` }))));
    setText(hint, streams.size >= mostStreams() ? `${mostStreams()} at once are possible` : '');
  };
  const remove = (/** @type {string} */ name) => {
    streams.get(name)?.stop.abort();
    streams.delete(name);
    list();
  };
  const follow = async (/** @type {string} */ name) => {
    if (streams.size >= mostStreams() || streams.has(name)) {
      return;
    }
    const used = new Set([...streams.values()].map(({ hue }) => hue));
    const hue = [0, 1, 2, 3].find((n) => !used.has(n)) ?? 0;
    const stop = new AbortController();
    streams.set(name, { stop, hue });
    list();
    let said = false;
    await followOutput(name, {
      signal: stop.signal,
      after: '',
      open() { /* lines follow */ },
      take: (lines) => {
        said = true;
        lines.forEach((line) => add(name, hue, line));
      },
      ended: () => {
        if (said) {
          said = false;
          raw.push('');
          put(h('div', { class: 'line rule-line' }, isolated(name, `who hue-${hue}`), h('span', { class: 'faint' }, '── end of run output ──')));
        }
      },
      failed: () => true,
    });
  };

  search.addEventListener('input', () => {
    for (const line of text.children) {
      /** @type {HTMLElement} */ (line).hidden = search.value !== '' && !fits(line);
    }
  });
  const preset = (/** @type {string} */ label, /** @type {(entry: import('./store.js').Entry) => boolean} */ fit) => button(label, () => {
    store.list().filter(fit).forEach((entry) => void follow(entry.job.name));
  }, { class: 'small' });
  const dialog = open('Tail', 'tail-dialog', [
    h('div', { class: 'toolbar' }, chosen, hint, preset('+ failing', (entry) => entry.failing), preset('+ running', (entry) => entry.job.running), search,
      button('Clear', () => {
        text.replaceChildren();
        raw.length = 0;
      }, { class: 'small' }),
      button('Download', () => {
        const link = h('a', { href: URL.createObjectURL(new Blob([raw.join('\n'), '\n'], { type: 'text/plain' })), download: 'tail.log' });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      }, { class: 'small' })),
    text,
  ]);
  setAttribute(dialog, 'class', 'wide');
  dialog.addEventListener('close', () => [...streams.keys()].forEach(remove));
  names.forEach((name) => void follow(name));
}
