// What happened when: roles and members, runs and misses, and what comes next; below it
// the newest run of every job. Two more parts show the outcomes of days, and what fires
// next.

/** @import {Entry} from './store.js' */
/** @import {Lane, Stretch} from './history-lanes.js' */
import './fire-radar.js';
import './heat-map.js';
import { button, h, isolated, replace, setAttribute, svg } from './dom.js';
import * as format from './format.js';
import { healthOfOutcome, healths, likelyCause } from './health.js';
import { jobLanes, memberStretches, roleStretches } from './history-lanes.js';
import { store } from './store.js';

/** @type {[string, string][]} */
const parts = [['runs', 'Runs'], ['outcomes', 'Outcomes'], ['next', 'Next firings']];
const minute = 60_000;
/** @type {[number, string][]} */
const spans = [[10 * minute, '10 min'], [60 * minute, '1 h'], [6 * 60 * minute, '6 h']];
// How much of the picture is the future.
const ahead = 0.12;
const mostLanes = 60;
const mostRows = 300;
const width = 1000;
const redraw = 5000;

class RunTimeline extends HTMLElement {
  #part = 'runs';
  #span = 10 * minute;
  #failing = false;
  #due = true;
  #drawn = 0;
  #parts = parts.map(([id, label]) => button(label, () => {
    location.hash = `#timeline/${id}`;
  }, { class: 'show', 'data-testid': `part-${id}` }));
  #spans = spans.map(([span, label]) => h('button', { type: 'button', class: 'show', 'aria-pressed': span === this.#span, onclick: () => this.#choose(span) }, label));
  #only = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => {
    this.#failing = !this.#failing;
    setAttribute(this.#only, 'aria-pressed', this.#failing);
    this.#draw();
  } }, 'Failing only');
  #lanes = h('div', { class: 'lanes', role: 'group', 'aria-label': 'Timeline' });
  #list = h('div', { class: 'newest' });
  #others = { outcomes: document.createElement('heat-map'), next: document.createElement('fire-radar') };
  #tools = h('div', { class: 'tools' },
    h('div', { class: 'shows', role: 'group', 'aria-label': 'Span' }, ...this.#spans), this.#only,
    h('span', { class: 'dim legend' }, ...[['is-ok', 'ok'], ['is-failed', 'failed'], ['is-running', 'running'], ['is-cancelled', 'cancelled']].map(([kind = '', label = '']) => h('span', {}, h('span', { class: `swatch ${kind}` }), label)), '◇ next  ✕ missed'));
  #scroll = h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'What happened' }, this.#lanes, this.#list);

  static observedAttributes = ['hidden'];

  connectedCallback() {
    this.dataset['testid'] = 'timeline';
    this.append(
      h('div', { class: 'toolbar' }, h('h2', {}, 'Timeline'),
        h('div', { class: 'shows', role: 'group', 'aria-label': 'What to show' }, ...this.#parts), this.#tools),
      this.#scroll);
    addEventListener('hashchange', () => this.#choosePart());
    this.#choosePart();
    this.addEventListener('click', (event) => {
      const name = /** @type {Element} */ (event.target).closest('[data-open]')?.getAttribute('data-open');
      if (name) {
        document.dispatchEvent(new CustomEvent('open-job', { detail: name }));
      }
    });
    for (const topic of /** @type {const} */ (['events', 'jobs', 'cluster'])) {
      store.on(topic, () => {
        this.#due = true;
      });
    }
    store.on('tick', () => {
      // Nothing is taken away from under a finger.
      if (!this.hidden && this.#part === 'runs' && !this.matches(':active') && (this.#due || Date.now() - this.#drawn > redraw)) {
        this.#draw();
      }
    });
  }

  attributeChangedCallback() {
    if (!this.isConnected || this.childElementCount === 0) {
      return;
    }
    // The other parts ask when they are put in their place: only while somebody looks.
    Object.entries(this.#others).forEach(([id, part]) => (this.hidden || id !== this.#part ? part.remove() : this.#scroll.append(part)));
    if (!this.hidden) {
      this.#draw();
    }
  }

  /** Takes the part from the address: #timeline/outcomes. */
  #choosePart() {
    const [view, id] = location.hash.slice(1).split('/');
    if (view === 'timeline' && parts.some(([part]) => part === id)) {
      this.#part = id ?? '';
    }
    parts.forEach(([part], i) => setAttribute(/** @type {Element} */ (this.#parts[i]), 'aria-pressed', part === this.#part));
    this.#tools.hidden = this.#lanes.hidden = this.#list.hidden = this.#part !== 'runs';
    this.attributeChangedCallback();
  }

  /** @param {number} span */
  #choose(span) {
    this.#span = span;
    spans.forEach(([s], i) => setAttribute(/** @type {Element} */ (this.#spans[i]), 'aria-pressed', s === span));
    this.#draw();
  }

  #draw() {
    // A person who is in the middle of it by keyboard must not be thrown out.
    const focused = this.#list.contains(document.activeElement) || this.#lanes.contains(document.activeElement)
      ? document.activeElement?.getAttribute('data-open') : null;
    const place = this.#list.contains(document.activeElement) ? this.#list : this.#lanes;
    this.#due = false;
    this.#drawn = Date.now();
    const entries = store.list().filter((entry) => !this.#failing || entry.failing);
    this.#drawLanes(entries);
    this.#drawList(entries);
    if (focused !== null && focused !== undefined) {
      /** @type {HTMLElement|undefined} */ ([...place.querySelectorAll('[data-open]')].find((el) => el.getAttribute('data-open') === focused))?.focus();
    }
  }

  /** @param {Entry[]} entries */
  #drawLanes(entries) {
    const now = store.now();
    const [from, to] = [now - this.#span * (1 - ahead), now + this.#span * ahead];
    /** @type {Lane[]} */
    const lanes = [];
    const { cluster } = store;
    if (cluster?.enabled) {
      const roles = roleStretches(store.events);
      lanes.push({ name: cluster.node_name ?? 'this node', job: false, stretches: roles, marks: [] });
      for (const { name, stretches } of memberStretches(store.events).values()) {
        lanes.push({ name, job: false, stretches, marks: [] });
      }
    }
    const jobs = jobLanes(entries, store.events, store.runningSince, from, to);
    lanes.push(...jobs.slice(0, mostLanes));
    replace(this.#lanes, axis(from, to, now), ...lanes.map((lane) => laneRow(lane, from, to, now)),
      jobs.length === 0 ? h('p', { class: 'dim padded' }, 'No run in this time.') : null,
      jobs.length > mostLanes ? h('p', { class: 'dim padded' }, `${format.count(jobs.length - mostLanes, 'more job')} had runs in this time.`) : null);
  }

  /** @param {Entry[]} entries */
  #drawList(entries) {
    const now = store.now();
    const cause = likelyCause(store.list().filter((entry) => entry.failing).map((entry) => entry.job));
    const alike = new Set(cause?.jobs.map((job) => job.name));
    const ran = entries.flatMap(({ job }) => (job.last_run ? [{ job, run: job.last_run, at: Date.parse(job.last_run.finished_at) }] : []))
      .sort((a, b) => b.at - a.at);
    replace(this.#list, h('h3', {}, 'Newest run of every job'),
      ran.length === 0 ? h('p', { class: 'dim' }, 'Nothing has run on this node yet.') : h('table', { class: 'list' },
        h('thead', {}, h('tr', {}, ...['Job', 'Outcome', 'Finished', 'Took', 'Reason'].map((label) => h('th', { scope: 'col' }, label)))),
        h('tbody', {}, ...ran.slice(0, mostRows).map(({ job, run, at }) => {
          const health = healthOfOutcome(run.outcome);
          return h('tr', { class: alike.has(job.name) ? 'alike' : undefined, title: alike.has(job.name) ? 'likely of one cause with the others that are marked' : undefined },
            h('td', {}, h('button', { type: 'button', class: 'plain', 'data-open': job.name }, isolated(job.name))),
            h('td', { class: `tight is-${health}` }, h('span', { 'aria-hidden': 'true' }, `${healths[health].glyph} `), run.outcome === 'failure' ? `failed, ${format.exit(run.exit_code)}` : run.outcome),
            h('td', { class: 'tight', title: format.utc(at) }, format.age(now - at)),
            h('td', { class: 'tight' }, format.duration(run.duration)),
            h('td', {}, isolated(run.fail_reason ?? '')));
        }))));
  }
}

/**
 * @param {number} from
 * @param {number} to
 * @param {number} now
 */
function axis(from, to, now) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120].map((n) => n * minute);
  const step = steps.find((s) => (to - from) / s <= 9) ?? 120 * minute;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at < to; at += step) {
    if (Math.abs(at - now) < (to - from) * 0.08) {
      continue; // "now" stands there
    }
    ticks.push(svg('text', { x: `${share(at, from, to) * 100}%`, y: 14, 'text-anchor': 'middle' }, format.clock(at).slice(0, 5)));
  }
  return h('div', { class: 'lane axis-lane', 'aria-hidden': 'true' }, h('span', { class: 'faint' }, 'UTC'),
    svg('svg', { class: 'axis-strip' }, ...ticks, svg('text', { class: 'now', x: `${share(now, from, to) * 100}%`, y: 14, 'text-anchor': 'middle' }, 'now')));
}

/** @param {number} at @param {number} from @param {number} to */
const share = (at, from, to) => Math.min(1, Math.max(0, (at - from) / (to - from)));

/**
 * @param {Lane} lane
 * @param {number} from
 * @param {number} to
 * @param {number} now
 */
function laneRow(lane, from, to, now) {
  const x = (/** @type {number} */ at) => width * share(at, from, to);
  const shown = lane.stretches.filter((s) => (s.to ?? now) >= from);
  const words = shown.map((s) => s.words);
  return h('div', { class: `lane${lane.job ? '' : ' member-lane'}` },
    lane.job ? h('button', { type: 'button', class: 'plain', 'data-open': lane.name }, isolated(lane.name)) : isolated(lane.name, 'who'),
    svg('svg', { class: 'strip', viewBox: `0 0 ${width} 16`, preserveAspectRatio: 'none', role: 'img', 'aria-label': words.length > 0 ? `${lane.name}: ${[...new Set(words)].join(', ')}` : `${lane.name}: nothing in this time` },
      svg('line', { class: 'now-line', x1: x(now), x2: x(now), y1: 0, y2: 16 }),
      ...shown.map((s) => bar(s, x, now, lane.job)),
      ...lane.marks.map((mark) => svg('path', { class: `mark ${mark.kind}`, d: mark.kind === 'missed' ? `M${x(mark.at) - 3} 3l6 10m0 -10l-6 10` : `M${x(mark.at)} 3l4 5l-4 5l-4 -5z` }, svg('title', {}, `${mark.words}, ${format.utc(mark.at)}`)))));
}

/**
 * @param {Stretch} s
 * @param {(at: number) => number} x
 * @param {number} now
 * @param {boolean} job
 */
function bar(s, x, now, job) {
  const [x1, x2] = [x(s.from), x(s.to ?? now)];
  return svg('rect', { class: `bar ${s.kind}`, x: x1, width: Math.max(x2 - x1, job ? 2.5 : 1), y: job ? 2 : 4, height: job ? 12 : 8 },
    svg('title', {}, `${s.words}, ${format.utc(s.from)}${s.to === null ? '' : ` to ${format.clock(s.to)}, ${format.span(Math.max(0, (s.to - s.from) / 1000))}`}`));
}

customElements.define('run-timeline', RunTimeline);
