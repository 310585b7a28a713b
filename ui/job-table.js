// The job table. Only the rows in sight exist, and each is brought up to date in place:
// ten thousand jobs cost no more than forty.

/** @import {Entry} from './store.js' */
/** @import {Column} from './job-columns.js' */
import { columns, sorts } from './job-columns.js';
import { h, setAttribute, setText } from './dom.js';
import { Places } from './places.js';
import { onPref, pref } from './prefs.js';
import { holdStray, reaction } from './steady.js';
import { store } from './store.js';

// Rows made beyond what is in sight, so that scrolling shows no gaps.
const margin = 6;
// Rows must not jump away under the hand: sorting waits this long after a movement.
const calm = 1500;
// Where the table is narrow, these columns go, the first ones first.
const firstToGo = ['rate', 'nextat', 'zone', 'policy', 'trend', 'took', 'schedule', 'owner', 'next'];

// As in the style sheets.
const small = matchMedia('(max-width: 759px)');

/** @typedef {'all'|'ok'|'failed'|'running'|'disabled'|'paused'} Show */
/** @typedef {{text: string, show: Show, sort: string, descending: boolean}} Query */

/** One row, used again for other jobs. */
class Row {
  /** @type {Entry|null} */
  entry = null;
  index = -1;
  chosen = false;

  /** @param {Column[]} shown */
  constructor(shown) {
    this.columns = shown;
    this.cells = shown.map((column) => {
      const cell = h('div', { class: `cell ${column.id}`, role: 'gridcell' });
      column.make(cell);
      return cell;
    });
    this.element = h('div', { class: 'row', role: 'row', 'data-testid': 'job-row' }, ...this.cells);
  }

  /**
   * @param {Entry} entry
   * @param {number} index
   * @param {number} rowHeight
   * @param {boolean} chosen
   */
  place(entry, index, rowHeight, chosen) {
    if (this.index !== index) {
      this.index = index;
      this.element.id = `job-row-${index}`;
      setAttribute(this.element, 'aria-rowindex', index + 2);
    }
    this.element.style.transform = `translateY(${index * rowHeight}px)`;
    if (this.chosen !== chosen) {
      this.chosen = chosen;
      setAttribute(this.element, 'aria-selected', chosen ? 'true' : 'false');
      for (const b of this.element.querySelectorAll('button')) {
        b.tabIndex = chosen ? 0 : -1;
      }
    }
    if (this.entry !== entry) {
      this.draw(entry);
    }
  }

  /** @param {Entry} entry */
  draw(entry) {
    this.entry = entry;
    this.element.dataset['job'] = entry.job.name;
    this.element.className = `row health-${entry.health}${entry.job.paused ? ' on-hold' : ''}`;
    this.columns.forEach((column, i) => column.draw(/** @type {HTMLElement} */ (this.cells[i]), entry));
    this.tick(store.now());
  }

  /** @param {number} now */
  tick(now) {
    const { entry } = this;
    if (entry) {
      this.columns.forEach((column, i) => column.tick?.(/** @type {HTMLElement} */ (this.cells[i]), entry, now));
    }
  }
}

export class JobTable extends HTMLElement {
  /** @type {Query} */
  query = { text: '', show: 'all', sort: 'config', descending: false };
  /** @type {Entry[]} what is shown, in order */
  shown = [];
  /** The columns that are wanted, but there is no room for them. */
  crowded = new Set();

  /** @type {Row[]} in use, by index modulo their number */
  #rows = [];
  /** @type {Column[]} */
  #columns = [];
  #chosen = '';
  #rowHeight = 44;
  #moved = 0;
  #sortDue = false;
  /** Which rows came to be elsewhere without having been asked to. */
  #places = new Places(reaction);
  #drawing = false;
  #body = h('div', { class: 'rows', role: 'rowgroup' });
  #head = h('div', { class: 'head', role: 'row', 'aria-rowindex': '1' });
  #empty = h('div', { class: 'empty', hidden: true });
  #grid = h('div', { class: 'grid', role: 'grid', tabindex: '0', 'aria-label': 'Jobs', 'data-testid': 'job-table' },
    h('div', { class: 'headgroup', role: 'rowgroup' }, this.#head), this.#body);

  connectedCallback() {
    this.append(this.#grid, this.#empty);
    this.#grid.addEventListener('scroll', () => this.#soon(), { passive: true });
    document.addEventListener('scroll', () => this.#soon(), { passive: true });
    new ResizeObserver(() => {
      this.#fit();
      this.measure();
    }).observe(this.#grid);
    this.#body.addEventListener('pointermove', () => {
      this.#moved = performance.now();
    }, { passive: true });
    this.#body.addEventListener('click', (event) => this.#hold(event), { capture: true });
    this.#body.addEventListener('click', (event) => this.#click(event));
    this.#head.addEventListener('click', (event) => this.#sortClick(event));
    this.#grid.addEventListener('focus', () => {
      // Not under a mouse: the table would jump away between the press and the click.
      if (!this.#chosen && this.shown[0] && this.#grid.matches(':focus-visible')) {
        this.choose(this.shown[0].job.name);
      }
    });
    store.on('jobs', (changed) => this.#changed(changed));
    store.on('cluster', () => this.#fit());
    store.on('tick', () => this.#tick());
    onPref((key) => {
      if (key === 'columns' || key === 'density' || key === 'scale') {
        this.#build();
      }
    });
    this.#build();
  }

  /** The name of the chosen job, '' if there is none. */
  get chosen() {
    return this.#chosen;
  }

  /** @param {Partial<Query>} query */
  filter(query) {
    Object.assign(this.query, query);
    this.#arrange();
    this.#headings();
  }

  /**
   * Chooses a job and brings it into sight.
   * @param {string} name
   */
  choose(name) {
    this.#chosen = name;
    const index = this.shown.findIndex((entry) => entry.job.name === name);
    if (index >= 0) {
      const top = index * this.#rowHeight;
      const view = this.#grid;
      const room = view.clientHeight - this.#head.offsetHeight;
      if (top < view.scrollTop) {
        view.scrollTop = top;
      } else if (top + this.#rowHeight > view.scrollTop + room) {
        view.scrollTop = top + this.#rowHeight - room;
      }
    }
    this.#draw();
  }

  /**
   * Chooses the next job or the one before.
   * @param {number} by
   */
  move(by) {
    const at = this.shown.findIndex((entry) => entry.job.name === this.#chosen);
    const to = at < 0 ? 0 : Math.min(Math.max(at + by, 0), this.shown.length - 1);
    const entry = this.shown[to];
    if (entry) {
      this.choose(entry.job.name);
    }
  }

  /** How many rows are in sight. */
  get page() {
    return Math.max(1, Math.floor((this.#grid.clientHeight - this.#head.offsetHeight) / this.#rowHeight) - 1);
  }

  focusGrid() {
    this.#grid.focus({ preventScroll: true });
  }

  /** The columns that are wanted, less what there is no room for. */
  #wanted() {
    const chosen = pref('columns');
    const wanted = columns.filter((column) => (column.there?.() ?? true) && (column.fixed || column.there || chosen.includes(column.id)));
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    // On a small screen rows are cards, which show what they can.
    let room = small.matches ? Infinity : this.clientWidth / rem - 2;
    this.crowded.clear();
    for (const column of wanted) {
      room -= column.least + 0.9;
    }
    for (const id of firstToGo) {
      const at = wanted.findIndex((column) => column.id === id);
      if (room < 0 && at >= 0) {
        room += (wanted[at]?.least ?? 0) + 0.9;
        wanted.splice(at, 1);
        this.crowded.add(id);
      }
    }
    return wanted;
  }

  /** Makes the columns anew if others are wanted. */
  #fit() {
    if (this.#wanted().map((column) => column.id).join() !== this.#columns.map((column) => column.id).join()) {
      this.#build();
    }
  }

  #build() {
    this.#columns = this.#wanted();
    this.#grid.style.setProperty('--columns', this.#columns.map((column) => (column.grow ? `minmax(${column.least}rem, ${column.grow}fr)` : `${column.least}rem`)).join(' '));
    setAttribute(this.#grid, 'aria-colcount', this.#columns.length);
    this.#rows = [];
    this.#body.replaceChildren();
    this.#headings();
    this.measure();
    this.#arrange();
  }

  #headings() {
    this.#head.replaceChildren(...this.#columns.map((column) => {
      const { sort } = column;
      const mine = sort !== undefined && sort === this.query.sort;
      const order = mine ? (this.query.descending ? 'descending' : 'ascending') : undefined;
      const content = sort
        ? h('button', { type: 'button', class: 'plain', 'data-sort': sort }, column.label, mine ? h('span', { 'aria-hidden': 'true' }, this.query.descending ? '▾' : '▴') : null)
        : column.label;
      return h('div', { class: `cell ${column.id}`, role: 'columnheader', 'aria-sort': order }, content);
    }));
  }

  /** Takes the height of a row from the style sheet. */
  measure() {
    const height = parseFloat(getComputedStyle(this.#grid).getPropertyValue('--row-height')) * parseFloat(getComputedStyle(document.documentElement).fontSize);
    if (height > 0) {
      this.#rowHeight = height;
    }
    this.#soon();
  }

  /** @param {Set<string>|null} changed */
  #changed(changed) {
    if (changed === null) {
      this.#rearrange();
      return;
    }
    // The entries were replaced: the rows in sight take the new ones. Which jobs are
    // shown in which order is found out later, all at once.
    this.#sortDue = true;
    for (const row of this.#rows) {
      const name = row.entry?.job.name;
      if (name !== undefined && changed.has(name)) {
        const entry = store.entries.get(name);
        if (entry) {
          row.draw(entry);
        }
      }
    }
  }

  #tick() {
    if (this.#sortDue && performance.now() - this.#moved > calm) {
      this.#rearrange();
    }
    const now = store.now();
    for (const row of this.#rows) {
      row.tick(now);
    }
  }

  /** Arranges the rows although nobody asked for it. */
  #rearrange() {
    const before = names(this.shown);
    this.#arrange();
    this.#places.arranged(before, names(this.shown), performance.now());
  }

  /** Finds out which jobs are shown, and in which order. */
  #arrange() {
    this.#sortDue = false;
    const { text, show, sort, descending } = this.query;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const list = store.list().filter((entry) => fits(entry, show) && words.every((word) => entry.text.includes(word)));
    const { compare } = sorts[sort] ?? { compare: () => 0 };
    const sign = descending ? -1 : 1;
    list.sort((a, b) => sign * compare(a, b) || a.order - b.order);
    this.shown = list;
    setAttribute(this.#grid, 'aria-rowcount', list.length + 1);
    this.#body.style.height = `${list.length * this.#rowHeight}px`;
    this.#empty.hidden = list.length > 0 || !store.loaded;
    setText(this.#empty, store.entries.size === 0 ? 'No jobs are configured.' : 'No job fits the filter.');
    this.dispatchEvent(new CustomEvent('arranged'));
    this.#draw();
  }

  #soon() {
    if (!this.#drawing) {
      this.#drawing = true;
      requestAnimationFrame(() => {
        this.#drawing = false;
        this.#draw();
      });
    }
  }

  /** Makes the rows in sight. */
  #draw() {
    const view = this.#grid;
    if (view.clientHeight === 0) {
      return;
    }
    this.#body.style.height = `${this.shown.length * this.#rowHeight}px`;
    // The grid scrolls, or on small screens the page: what counts is what is in sight.
    const box = view.getBoundingClientRect();
    const hidden = Math.max(0, -box.top);
    const room = Math.min(view.clientHeight, window.innerHeight);
    // The place is still the old one where the list has just become shorter.
    const top = Math.min(view.scrollTop + hidden, Math.max(0, this.shown.length * this.#rowHeight - room));
    const first = Math.max(0, Math.floor(top / this.#rowHeight) - margin);
    const last = Math.min(this.shown.length, Math.ceil((top + room) / this.#rowHeight) + margin);
    const need = last - first;
    while (this.#rows.length < need) {
      const row = new Row(this.#columns);
      for (const b of row.element.querySelectorAll('button')) {
        b.tabIndex = -1;
      }
      this.#rows.push(row);
    }
    const size = this.#rows.length;
    /** @type {Set<Row>} */
    const used = new Set();
    for (let i = first; i < last; i++) {
      const row = this.#rows[i % size];
      const entry = this.shown[i];
      if (row && entry) {
        used.add(row);
        row.place(entry, i, this.#rowHeight, entry.job.name === this.#chosen);
        if (!row.element.isConnected) {
          this.#body.append(row.element);
        }
      }
    }
    for (const row of this.#rows) {
      if (!used.has(row) && row.element.isConnected) {
        row.element.remove();
      }
    }
    const chosen = [...used].find((row) => row.chosen);
    setAttribute(view, 'aria-activedescendant', chosen?.element.id);
  }

  /**
   * Holds a click on a row that has just come to be where it is.
   * @param {MouseEvent} event
   */
  #hold(event) {
    holdStray(event, this.#places.movedAt(rowJob(event) ?? ''));
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const target = /** @type {Element} */ (event.target);
    const name = rowJob(event);
    if (name === undefined) {
      return;
    }
    this.choose(name);
    const act = /** @type {HTMLElement|null} */ (target.closest('[data-act]'))?.dataset['act'] ?? 'open';
    this.dispatchEvent(new CustomEvent('act', { detail: { name, act } }));
  }

  /** @param {MouseEvent} event */
  #sortClick(event) {
    const sort = /** @type {HTMLElement|null} */ (/** @type {Element} */ (event.target).closest('[data-sort]'))?.dataset['sort'];
    if (sort) {
      // The third click goes back to the order of the configuration.
      const again = this.query.sort === sort;
      const next = again && this.query.descending ? { sort: 'config', descending: false } : { sort, descending: again };
      this.filter(next);
      this.dispatchEvent(new CustomEvent('query'));
      /** @type {HTMLElement|null} */ (this.#head.querySelector(`[data-sort="${sort}"]`))?.focus();
    }
  }
}

/** @param {Entry[]} entries */
const names = (entries) => entries.map((entry) => entry.job.name);

/** The name of the job whose row was clicked. @param {MouseEvent} event */
function rowJob(event) {
  return /** @type {HTMLElement|null} */ (/** @type {Element} */ (event.target).closest('.row'))?.dataset['job'];
}

/**
 * @param {Entry} entry
 * @param {Show} show
 */
function fits(entry, show) {
  switch (show) {
    case 'failed': return entry.failing;
    case 'running': return entry.job.running;
    case 'disabled': return !entry.job.enabled;
    case 'paused': return entry.job.paused !== undefined;
    case 'ok': return entry.health === 'ok';
    default: return true;
  }
}

customElements.define('job-table', JobTable);
