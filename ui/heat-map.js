// How the runs of jobs went over hours and days: a row per job, a cell per stretch of time.

/** @import {Run} from './types.js' */
import * as api from './api.js';
import { h, isolated, replace, setAttribute, svg } from './dom.js';
import * as format from './format.js';
import { healthOfOutcome } from './health.js';
import { store } from './store.js';

const hour = 3_600_000;
/** @type {[number, string][]} */
const spans = [[6 * hour, '6 h'], [24 * hour, '24 h'], [7 * 24 * hour, '7 d']];
const buckets = 24;
const mostJobs = 80;
const atOnce = 3;
const cached = 60_000;
// The worst of a cell gives its colour.
const worst = ['failed', 'lost', 'cancelled', 'ok'];

/** @type {Map<string, {at: number, runs: Run[]}>} */
const known = new Map();

class HeatMap extends HTMLElement {
  #span = 24 * hour;
  #asking = 0;
  #spans = spans.map(([span, label]) => h('button', { type: 'button', class: 'show', 'aria-pressed': span === this.#span, onclick: () => this.#choose(span) }, label));
  #rows = h('div', { class: 'lanes' });
  #note = h('span', { class: 'dim', role: 'status' });

  connectedCallback() {
    this.dataset['testid'] = 'heat-map';
    if (this.childElementCount === 0) {
      this.append(h('div', { class: 'toolbar' }, h('h3', {}, 'Outcomes'), h('div', { class: 'shows', role: 'group', 'aria-label': 'Span of the outcomes' }, ...this.#spans), this.#note), this.#rows);
    }
    void this.#load();
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
    const queue = store.list().filter((entry) => entry.job.last_run).sort((a, b) => Number(b.failing) - Number(a.failing)).map((entry) => entry.job.name);
    this.#note.textContent = queue.length > mostJobs ? `${mostJobs} of ${format.count(queue.length, 'job')} that have run` : '';
    queue.length = Math.min(queue.length, mostJobs);
    const names = [...queue];
    const work = async () => {
      for (let name = queue.shift(); name !== undefined && asking === this.#asking && this.isConnected; name = queue.shift()) {
        if (Date.now() - (known.get(name)?.at ?? 0) > cached) {
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
    replace(this.#rows, ...this.#names.map((name) => row(name, known.get(name)?.runs ?? [], from, to)),
      this.#names.length === 0 ? h('p', { class: 'dim padded' }, 'Nothing has run on this node yet.') : null);
  }
}

/**
 * @param {string} name
 * @param {Run[]} runs
 * @param {number} from
 * @param {number} to
 */
function row(name, runs, from, to) {
  /** @type {Run[][]} */
  const cells = Array.from({ length: buckets }, () => []);
  for (const run of runs) {
    const at = Date.parse(run.finished_at);
    const i = Math.floor((buckets * (at - from)) / (to - from));
    cells[Math.min(i, buckets - 1)]?.push(run);
  }
  const busiest = Math.max(1, ...cells.map((cell) => cell.length));
  const failed = runs.filter((run) => run.outcome === 'failure').length;
  return h('div', { class: 'lane' },
    h('button', { type: 'button', class: 'plain', 'data-open': name }, isolated(name)),
    svg('svg', { class: 'strip', viewBox: `0 0 ${buckets * 10} 16`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${name}: ${format.count(runs.length, 'run')} kept, ${failed} failed` },
      ...cells.flatMap((cell, i) => {
        const kind = worst.find((health) => cell.some((run) => healthOfOutcome(run.outcome) === health));
        return kind === undefined ? [] : [svg('rect', { class: `heat is-${kind}`, x: i * 10 + 0.5, y: 1, width: 9, height: 14, 'fill-opacity': (0.4 + (0.6 * cell.length) / busiest).toFixed(2) },
          svg('title', {}, `${format.utc(from + (i * (to - from)) / buckets)}: ${format.count(cell.length, 'run')}, ${cell.filter((run) => run.outcome === 'failure').length} failed`))];
      })));
}

customElements.define('heat-map', HeatMap);
