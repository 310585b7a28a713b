// What fires next, as a radar: the centre is now, a job comes nearer as its firing does,
// and stands where the minute hand of a clock will then. What fires together stands
// together. Beside it is the same as a list.

/** @import {Entry} from './store.js' */
import { h, isolated, replace, setAttribute, setText, svg } from './dom.js';
import * as format from './format.js';
import { healths } from './health.js';
import { store } from './store.js';

const size = 460;
const middle = size / 2;
const reach = middle - 26;
// Near firings have more room than far ones.
const scale = 20_000;
const minute = 60_000;
const hour = 60 * minute;
const farthest = 7 * 24 * hour;
/** @type {[number, string][]} */
const rings = [[minute, '1 min'], [10 * minute, '10 min'], [hour, '1 h'], [6 * hour, '6 h'], [24 * hour, '1 d'], [farthest, '7 d']];
const mostDots = 500;
const mostRows = 12;
const mostCrowds = 3;

/** How far from the centre. @param {number} wait milliseconds */
const radius = (wait) => reach * Math.log1p(Math.max(0, Math.min(wait, farthest)) / scale) / Math.log1p(farthest / scale);

/** Where the minute hand points to. @param {number} at */
const angle = (at) => 2 * Math.PI * ((at % hour) / hour) - Math.PI / 2;

/** @param {number} at @param {number} r @param {number} [aside] along the ring */
const point = (at, r, aside = 0) => {
  const a = angle(at) + aside / Math.max(r, 30);
  return [middle + r * Math.cos(a), middle + r * Math.sin(a)].map((n) => n.toFixed(1));
};

/** The name of a ring, where few jobs fire. @param {number} wait @param {string} text */
const ringName = (wait, text) => {
  const [x, y] = point(7.5 * minute, radius(wait));
  return svg('text', { x, y, dx: 3, dy: -3 }, text);
};

class FireRadar extends HTMLElement {
  /** @type {(() => void)[]} */
  #off = [];
  /** @type {{at: number, aside: number}[]} what the dots stand for */
  #placed = [];
  #shown = '';
  #drawDue = false;
  #hand = svg('line', { class: 'hand', x1: middle, y1: middle });
  #dots = svg('g', {});
  #drawing = svg('svg', { class: 'radar', viewBox: `0 0 ${size} ${size}`, role: 'img' },
    ...rings.flatMap(([wait, label]) => [svg('circle', { class: 'ring', cx: middle, cy: middle, r: radius(wait) }), ringName(wait, label)]),
    ...[0, 15, 30, 45].map((n) => {
      const [x, y] = point(n * minute, reach + 14);
      return svg('text', { class: 'hour', x, y, dy: '.35em', 'text-anchor': 'middle' }, `:${String(n).padStart(2, '0')}`);
    }), this.#hand, this.#dots);
  #list = h('div', { class: 'due' });

  connectedCallback() {
    this.dataset['testid'] = 'fire-radar';
    if (this.childElementCount === 0) {
      this.append(this.#drawing, this.#list);
    }
    this.#off = [store.on('tick', () => (this.#drawDue ? this.#draw() : this.#tick())), store.on('jobs', () => this.#draw())];
    this.#draw();
  }

  disconnectedCallback() {
    this.#off.forEach((off) => off());
  }

  #draw() {
    // Nothing is taken away from under a finger.
    this.#drawDue = this.matches(':active');
    if (this.#drawDue) {
      return;
    }
    const all = store.list().flatMap((entry) => (entry.nextAt !== null && entry.job.enabled ? [{ entry, at: entry.nextAt }] : [])).sort((a, b) => a.at - b.at);
    const due = all.filter(({ entry }) => !entry.job.paused);
    // Those of one minute stand side by side, to the right and to the left in turn.
    /** @type {Map<number, number>} */
    const seen = new Map();
    const dots = all.slice(0, mostDots).map((dot) => {
      const n = seen.get(Math.floor(dot.at / minute)) ?? 0;
      seen.set(Math.floor(dot.at / minute), n + 1);
      return { ...dot, aside: 11 * Math.ceil(n / 2) * (n % 2 ? 1 : -1) };
    });
    this.#placed = dots;
    replace(this.#dots, ...dots.map(({ entry, at }) => svg('circle', {
      class: `is-${entry.failing ? 'failed' : entry.health}`, r: 4.5, 'data-job': entry.job.name, 'data-open': entry.job.name,
    }, svg('title', {}, `${entry.job.name}, ${format.utc(at)}${entry.job.paused ? ', but paused' : ''}`))));
    setAttribute(this.#drawing, 'aria-label', `${format.count(due.length, 'job')} will fire; the list beside has the next ones.`);
    const shown = JSON.stringify(due.slice(0, mostRows).map(({ entry: { job, health, failing }, at }) => [job.name, health, failing, at]));
    if (shown !== this.#shown) {
      this.#shown = shown;
      const focused = this.#list.contains(document.activeElement) ? document.activeElement?.getAttribute('data-open') : null;
      replace(this.#list, ...list(due), ...crowds(due));
      /** @type {HTMLElement|undefined} */ ([...this.#list.querySelectorAll('button')].find((el) => el.dataset['open'] === focused))?.focus();
    }
    this.#tick();
  }

  #tick() {
    const now = store.now();
    const [x, y] = point(now, reach);
    setAttribute(this.#hand, 'x2', x);
    setAttribute(this.#hand, 'y2', y);
    [...this.#dots.children].forEach((dot, i) => {
      const { at, aside } = this.#placed[i] ?? { at: 0, aside: 0 };
      const [cx, cy] = point(at, radius(at - now), aside);
      setAttribute(dot, 'cx', cx);
      setAttribute(dot, 'cy', cy);
      dot.classList.toggle('soon', at - now < minute);
    });
    for (const cell of this.#list.querySelectorAll('[data-at]')) {
      setText(cell, format.countdown(Number(cell.getAttribute('data-at')) - now));
    }
  }
}

/** @param {{entry: Entry, at: number}[]} due */
function list(due) {
  const now = store.now();
  return [
    h('h3', {}, 'Next firings'),
    due.length === 0 ? h('p', { class: 'dim' }, 'No job will fire.') : h('table', { class: 'list', 'data-testid': 'due-table' },
      h('thead', {}, h('tr', {}, ...['In', 'UTC', 'Job', 'State'].map((label) => h('th', { scope: 'col' }, label)))),
      h('tbody', {}, ...due.slice(0, mostRows).map(({ entry: { job, health, failing }, at }) => {
        const look = failing ? 'failed' : health;
        return h('tr', {},
          h('td', { class: 'tight', 'data-at': at }),
          h('td', { class: 'tight dim', title: format.local(at) }, at - now < 20 * hour ? format.clock(at) : format.utc(at).slice(5, 16)),
          h('td', {}, h('button', { type: 'button', class: 'plain', 'data-open': job.name }, isolated(job.name))),
          h('td', { class: `tight is-${look}` }, `${healths[look].glyph} ${healths[look].label}`));
      }))),
    due.length > mostRows ? h('p', { class: 'dim' }, `and ${format.count(due.length - mostRows, 'more job')}`) : null,
  ];
}

/**
 * Minutes in which many jobs begin together.
 * @param {{entry: Entry, at: number}[]} due
 */
function crowds(due) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const { at } of due) {
    const began = Math.floor(at / minute) * minute;
    counts.set(began, (counts.get(began) ?? 0) + 1);
  }
  const busiest = [...counts].filter(([, n]) => n > 2).sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, mostCrowds);
  return busiest.length === 0 ? [] : [h('h3', {}, 'Crowded minutes'), h('ul', { class: 'results' }, ...busiest.map(([at, n]) => h('li', {}, `${format.utc(at).slice(5, 16)} UTC: ${format.count(n, 'job')}`)))];
}

customElements.define('fire-radar', FireRadar);
