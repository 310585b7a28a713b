// What a job prints: first what is kept of its newest run, then what comes, then the
// same of the next run.

/** @import {LogLine} from './types.js' */
import * as api from './api.js';
import { pieces, plain } from './ansi.js';
import { button, h, setAttribute, setText } from './dom.js';
import { followOutput } from './follow-output.js';
import { clock, count } from './format.js';
import { highlight } from './highlight.js';
import { pref, setPref } from './prefs.js';
import { store } from './store.js';

const mostLines = 5000;
// Lines live in blocks: one that is out of sight costs the browser nothing, and the
// oldest go a block at a time.
const blockLines = 100;
const longestPattern = 200;
const longestSearched = 2000;

/** @typedef {{element: HTMLElement, raw: string, text: string}} Shown */

class LogView extends HTMLElement {
  static observedAttributes = ['job'];

  #job = '';
  /** @type {Shown[]} */
  #lines = [];
  #number = 0;
  #dropped = 0;
  #lastID = '';
  #follow = true;
  /** @type {AbortController|null} */
  #reading = null;
  #ended = false;
  /** @type {[LogLine, number][]} lines that wait for the next frame */
  #waiting = [];
  /** @type {((text: string) => boolean)|null} */
  #matches = null;
  /** @type {Shown[]} */
  #found = [];
  #at = -1;

  #text = h('div', { class: 'lines', role: 'log', 'aria-live': 'off', 'aria-label': 'Output', tabindex: '0', 'data-testid': 'log-lines' });
  #note = h('div', { class: 'log-note dim', role: 'status', 'data-testid': 'log-note' });
  #search = h('input', { type: 'search', placeholder: 'Search', 'aria-label': 'Search in the output', spellcheck: 'false', maxlength: longestPattern, 'data-testid': 'log-search' });
  #regex = toggle('.*', 'Search is a regular expression', false, () => this.#searched());
  #only = toggle('Matches only', 'Show only lines that match', false, (on) => this.#text.classList.toggle('only', on));
  #hits = h('span', { class: 'dim', role: 'status' });
  #followButton = toggle('Follow', 'Keep the newest line in sight', true, (on) => this.#setFollow(on));

  connectedCallback() {
    this.dataset['testid'] = 'log-view';
    const flag = (/** @type {'wrap'|'colours'|'stamps'} */ key, /** @type {string} */ label, /** @type {string} */ title) => toggle(label, title, pref(key), (on) => {
      setPref(key, on);
      this.#look();
    });
    this.append(
      h('div', { class: 'log-tools', role: 'toolbar', 'aria-label': 'Output' },
        this.#search, this.#regex, this.#only, this.#hits,
        h('span', { class: 'gap' }),
        this.#followButton,
        flag('wrap', 'Wrap', 'Break long lines'),
        flag('colours', 'Colours', 'Show the colours that the job prints'),
        flag('stamps', 'Times', "Show when lines arrived here, by this browser's clock"),
        button('Download', () => this.#download()),
        button('Clear', () => this.#clear())),
      this.#text, this.#note);
    this.#search.addEventListener('input', () => {
      this.#current(-1);
      this.#searched();
    });
    this.#search.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') {
        this.#next(event.shiftKey ? -1 : 1);
      }
    });
    this.#text.addEventListener('scroll', () => {
      const below = this.#text.scrollHeight - this.#text.scrollTop - this.#text.clientHeight;
      if (this.#follow !== below < 30) {
        this.#setFollow(below < 30);
      }
    }, { passive: true });
    store.on('jobs', (changed) => {
      if (this.#job && (changed === null || changed.has(this.#job))) {
        this.#live();
      }
    });
    this.#look();
  }

  /** Shows the output of the job that the attribute names, '' for none. */
  attributeChangedCallback() {
    const job = this.getAttribute('job') ?? '';
    if (this.#job === job && this.#reading) {
      return;
    }
    this.#reading?.abort();
    this.#reading = null;
    if (this.#job !== job) {
      this.#job = job;
      this.#lastID = '';
      this.#empty();
    }
    if (job) {
      this.#setFollow(true);
      void this.#read();
    }
  }

  #look() {
    this.#text.classList.toggle('wrap', pref('wrap'));
    this.#text.classList.toggle('monochrome', !pref('colours'));
    this.#text.classList.toggle('stamped', pref('stamps'));
  }

  /** @param {string} text @param {string} [kind] */
  #say(text, kind = '') {
    this.#note.className = `log-note ${kind || 'dim'}`;
    setText(this.#note, text);
  }

  async #read() {
    const reading = this.#reading = new AbortController();
    const { signal } = reading;
    await followOutput(this.#job, {
      signal,
      after: this.#lastID,
      open: () => {
        this.#ended = false;
        this.#say('');
        this.#live();
      },
      take: (lines, lastID) => this.#take(lines, lastID),
      ended: (reason) => this.#end(reason),
      failed: (error) => {
        if (error instanceof api.APIError && (error.status === 404 || error.status === 401)) {
          this.#say(error.status === 404 ? 'The job is no longer configured.' : 'A token is needed.', 'is-warning');
          return false;
        }
        const what = error === null ? 'The stream was cut off' : error instanceof Error ? error.message : error;
        this.#say(`${what}: trying again`, 'is-warning');
        return true;
      },
    });
  }

  /** @param {string} reason of the end of the stream */
  #end(reason) {
    this.#ended = true;
    const job = store.entries.get(this.#job)?.job;
    if (job && !job.captureStdout && !job.captureStderr) {
      this.#say('The output of this job is not captured: set captureStdout or captureStderr to see it here.');
    } else if (reason === 'no-output') {
      this.#say('This job has not run on this node yet.');
    } else if (this.#number === 0) {
      this.#say('The newest run printed nothing. The next one will show here.');
    } else {
      this.#say('End of the output of this run. The next one will show here.');
    }
  }

  /** Says that what is shown is of now. */
  #live() {
    if (!this.#ended && this.#reading && store.entries.get(this.#job)?.job.running) {
      this.#say('● Live', 'is-running');
    }
  }

  /** @param {LogLine[]} lines @param {string} lastID */
  #take(lines, lastID) {
    if (api.runOf(lastID) !== api.runOf(this.#lastID)) {
      this.#rule('end of run output');
    }
    this.#lastID = lastID;
    const now = Date.now();
    if (this.#waiting.length === 0) {
      requestAnimationFrame(() => this.#show());
    }
    for (const line of lines) {
      this.#waiting.push([line, now]);
    }
    if (this.#waiting.length > mostLines) {
      const over = this.#waiting.length - mostLines;
      this.#waiting.splice(0, over);
      this.#number += over;
      this.#dropped += over;
    }
  }

  #show() {
    const waiting = this.#waiting;
    this.#waiting = [];
    let block = this.#text.lastElementChild;
    for (const [line, at] of waiting) {
      if (!block || block.classList.contains('rule') || block.childElementCount >= blockLines) {
        block = h('div', { class: 'block' });
        this.#text.append(block);
      }
      const shown = this.#line(line, at);
      this.#lines.push(shown);
      block.append(shown.element);
    }
    while (this.#lines.length > mostLines && this.#text.firstElementChild) {
      const gone = this.#text.firstElementChild;
      const n = gone.querySelectorAll('.line').length;
      this.#lines.splice(0, n);
      this.#dropped += n;
      gone.remove();
    }
    if (this.#matches) {
      this.#searched();
    }
    if (this.#follow) {
      this.#text.scrollTop = this.#text.scrollHeight;
    }
  }

  /**
   * @param {LogLine} line
   * @param {number} at
   * @returns {Shown}
   */
  #line(line, at) {
    const element = h('div', { class: `line ${line.stream}` },
      h('span', { class: 'number', 'aria-hidden': 'true', 'data-n': ++this.#number }),
      h('time', { class: 'stamp', 'data-at': clock(at) }),
      h('span', { class: 'said', dir: 'auto' }, ...pieces(line.line).map(({ text, classes }) => (classes ? h('span', { class: classes, text }) : text))));
    return { element, raw: line.line, text: plain(line.line) };
  }

  /** Draws a line below what has come, if anything has. @param {string} text */
  #rule(text) {
    this.#show();
    if (this.#lines.length === 0) {
      return;
    }
    this.#text.append(h('div', { class: 'block rule' }, h('span', { text })));
  }

  #empty() {
    this.#lines = [];
    this.#waiting = [];
    this.#number = 0;
    this.#dropped = 0;
    this.#found = [];
    this.#text.replaceChildren();
    highlight([]);
    this.#say('');
  }

  #clear() {
    this.#empty();
    this.#say('Cleared; what comes next will show here.');
  }

  /** @param {boolean} on */
  #setFollow(on) {
    this.#follow = on;
    setAttribute(this.#followButton, 'aria-pressed', on);
    if (on) {
      this.#text.scrollTop = this.#text.scrollHeight;
    }
  }

  #searched() {
    const text = this.#search.value.slice(0, longestPattern);
    /** @type {RegExp|null} */
    let pattern = null;
    this.#search.setCustomValidity('');
    if (text) {
      try {
        const regex = this.#regex.getAttribute('aria-pressed') === 'true';
        // A repetition of repetitions may try for years, and the page would stand still.
        if (regex && /[+*}|][^()]*\)[+*{]/.test(text)) {
          throw new Error();
        }
        pattern = new RegExp(regex ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'giu');
      } catch (error) {
        this.#search.setCustomValidity(error instanceof SyntaxError ? 'no valid expression' : 'too costly');
      }
    }
    this.#matches = pattern ? (line) => /** @type {RegExp} */ (pattern).test(line) : null;
    this.#found = [];
    for (const line of this.#lines) {
      if (pattern) {
        pattern.lastIndex = 0;
      }
      const match = this.#matches?.(line.text.slice(0, longestSearched)) ?? false;
      line.element.classList.toggle('match', match);
      if (match) {
        this.#found.push(line);
      }
    }
    this.#text.classList.toggle('searching', pattern !== null);
    highlight(pattern ? this.#found.map((line) => line.element) : [], pattern);
    setAttribute(this.#search, 'aria-invalid', this.#search.validity.customError ? 'true' : undefined);
    setText(this.#hits, this.#search.validationMessage || (text ? count(this.#found.length, 'match', 'matches') : ''));
  }

  /** @param {number} at of the matches; -1: none */
  #current(at) {
    this.#text.querySelector('.current')?.classList.remove('current');
    this.#at = at;
    this.#found[at]?.element.classList.add('current');
  }

  /** @param {number} by */
  #next(by) {
    if (this.#found.length === 0) {
      return;
    }
    this.#setFollow(false);
    this.#current((Math.max(this.#at, by > 0 ? -1 : 0) + by + this.#found.length) % this.#found.length);
    this.#found[this.#at]?.element.scrollIntoView({ block: 'center' });
    setText(this.#hits, `${this.#at + 1} of ${count(this.#found.length, 'match', 'matches')}`);
  }

  #download() {
    const head = this.#dropped > 0 ? [`(${count(this.#dropped, 'older line')} left out)`] : [];
    const blob = new Blob([[...head, ...this.#lines.map((line) => line.raw)].join('\n'), '\n'], { type: 'text/plain' });
    const link = h('a', { href: URL.createObjectURL(blob), download: `${this.#job.replace(/[^\w.-]+/g, '_')}.log` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

/**
 * A button that is on or off.
 * @param {string} label
 * @param {string} title
 * @param {boolean} on
 * @param {(on: boolean) => void} changed
 */
function toggle(label, title, on, changed) {
  const b = button(label, () => {
    const now = b.getAttribute('aria-pressed') !== 'true';
    setAttribute(b, 'aria-pressed', now);
    changed(now);
  }, { 'aria-pressed': on, title });
  return b;
}


customElements.define('log-view', LogView);
