// How the runs of jobs went over hours and days: a row per job, a cell per stretch of time.

/** @import {Run} from './types.js' */
import * as api from './api.js';
import { h, isolated, replace, setAttribute, svg } from './dom.js';
import * as format from './format.js';
import { heatBuckets, heatCells } from './history-lanes.js';
import { store } from './store.js';

const hour = 3_600_000;
/** @type {[number, string][]} */
const spans = [[6 * hour, '6 h'], [24 * hour, '24 h'], [7 * 24 * hour, '7 d']];
const mostJobs = 80;
const atOnce = 3;
const cached = 60_000;

/** @type {Map<string, {at: number, runs: Run[]}>} */
const known = new Map();

class HeatMap extends HTMLElement {
  /** @type {() => void} */
  #off = () => { /* nothing yet */ };
  #loaded = 0;
  #span = 24 * hour;
  #asking = 0;
  #spans = spans.map(([span, label]) => h('button', { type: 'button', class: 'show', 'aria-pressed': span === this.#span, onclick: () => this.#choose(span) }, label));
  #rows = h('div', { class: 'lanes' });
  #note = h('span', { class: 'dim', role: 'status' });

  connectedCallback() {
    this.dataset['testid'] = 'heat-map';
    if (this.childElementCount === 0) {
      this.append(h('div', { class: 'toolbar' }, h('div', { class: 'shows', role: 'group', 'aria-label': 'Span of the outcomes' }, ...this.#spans),
        h('span', { class: 'dim legend' }, 'colour: the worst outcome · shade: how many runs · grey: no longer kept'), this.#note), this.#rows);
    }
    this.#off = store.on('tick', () => {
      if (Date.now() - this.#loaded > cached) {
        void this.#load();
      }
    });
    void this.#load();
  }

  disconnectedCallback() {
    this.#off();
  }

  /** @param {number} span */
  #choose(span) {
    this.#span = span;
    spans.forEach(([s], i) => setAttribute(/** @type {Element} */ (this.#spans[i]), 'aria-pressed', s === span));
    this.#draw();
    void this.#load();
  }

  /** Asks for what is not known or old, a few jobs at a time. */
  async #load() {
    const asking = ++this.#asking;
    this.#loaded = store.loaded ? Date.now() : 0;
    const queue = store.list().filter((entry) => entry.job.last_run).sort((a, b) => Number(b.failing) - Number(a.failing)).map((entry) => entry.job.name);
    this.#note.textContent = queue.length > mostJobs ? `${mostJobs} of ${format.count(queue.length, 'job')} that have run` : '';
    queue.length = Math.min(queue.length, mostJobs);
    const names = [...queue];
    const work = async () => {
      for (let name = queue.shift(); name !== undefined && asking === this.#asking && this.isConnected; name = queue.shift()) {
        if (Date.now() - (known.get(name)?.at ?? 0) >= cached) {
          try {
            const { runs } = await api.runs(name);
            known.set(name, { at: Date.now(), runs });
          } catch {
            // Its row stays empty; the head of the page says what is wrong.
          }
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    if (asking === this.#asking) {
      this.#names = names;
      this.#draw();
    }
  }

  /** @type {string[]} */
  #names = [];

  #draw() {
    const to = store.now();
    const from = to - this.#span;
    replace(this.#rows, this.#names.length > 0 && axis(from, to), ...this.#names.map((name) => row(name, known.get(name)?.runs ?? [], from, to)),
      this.#names.length === 0 ? h('p', { class: 'dim padded' }, 'Nothing has run on this node yet.') : null);
  }
}

/** @param {number} from @param {number} to */
function axis(from, to) {
  return h('div', { class: 'lane axis-lane', 'aria-hidden': 'true' }, h('span', { class: 'faint' }, 'UTC'),
    svg('svg', { class: 'axis-strip' }, ...[0, 1, 2, 3, 4].map((i) => svg('text', { class: i === 4 ? 'now' : undefined, x: `${25 * i}%`, y: 14, 'text-anchor': i === 0 ? 'start' : i === 4 ? 'end' : 'middle' },
      i === 4 ? 'now' : format.utc(from + (i * (to - from)) / 4).slice(5, 16)))));
}

/**
 * @param {string} name
 * @param {Run[]} runs
 * @param {number} from
 * @param {number} to
 */
function row(name, runs, from, to) {
  const { cells, unknown } = heatCells(runs, from, to);
  const sum = (/** @type {'n'|'failed'} */ what) => cells.reduce((all, cell) => all + cell[what], 0);
  const busiest = Math.max(1, ...cells.map((cell) => cell.n));
  return h('div', { class: 'lane', 'data-job': name },
    h('button', { type: 'button', class: 'plain', 'data-open': name }, isolated(name)),
    svg('svg', { class: 'strip', viewBox: `0 0 ${heatBuckets * 10} 16`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${name}: ${format.count(sum('n'), 'run')} in this time, ${sum('failed')} failed` },
      unknown > 0 && svg('rect', { class: 'not-kept', width: unknown * 10, y: 1, height: 14 }, svg('title', {}, 'runs of then are no longer kept')),
      ...cells.map(({ n, failed, kind }, i) => n > 0 && svg('rect', {
        class: `heat is-${kind}`, x: i * 10 + 0.5, y: 1, width: 9, height: 14, 'data-bucket': i, 'data-runs': n, 'fill-opacity': (0.4 + (0.6 * n) / busiest).toFixed(2),
      }, svg('title', {}, `${format.utc(from + (i * (to - from)) / heatBuckets)}: ${format.count(n, 'run')}, ${failed} failed`)))));
}

customElements.define('heat-map', HeatMap);
