// The job table with its toolbar.

/** @import {Show} from './job-table.js' */
import { button, h, replace, setAttribute, setText } from './dom.js';
import { count } from './format.js';
import { columns, sorts } from './job-columns.js';
import { JobTable } from './job-table.js';
import { openMitigation } from './overlays.js';
import { pref, setPref } from './prefs.js';
import { store } from './store.js';

/** @type {[Show, string][]} */
const shows = [['all', 'All'], ['failed', 'Failing'], ['running', 'Running'], ['ok', 'OK'], ['paused', 'Paused'], ['disabled', 'Off']];

export class JobView extends HTMLElement {
  table = new JobTable();
  #filter = h('input', {
    type: 'search', placeholder: 'Filter jobs  /', 'aria-label': 'Filter by name and command',
    autocomplete: 'off', spellcheck: 'false', 'data-testid': 'filter-input', oninput: () => this.#filtered(),
  });
  #shows = shows.map(([show, label]) => h('button', {
    type: 'button', class: `show show-${show}`, 'aria-pressed': 'false', 'data-testid': `show-${show}`, onclick: () => this.set({ show }),
  }, h('span', { text: label }), h('span', { class: 'n' })));
  #sort = h('select', { 'aria-label': 'Sort by', 'data-testid': 'sort-select', onchange: () => this.set({ sort: this.#sort.value, descending: false }) },
    ...Object.entries(sorts).map(([id, { label }]) => h('option', { value: id }, label)));
  #count = h('span', { class: 'dim shown', 'aria-live': 'polite' });
  #failing = button('Run failing', () => openMitigation(store.list().filter((entry) => entry.failing).map((entry) => entry.job.name)), { class: 'wide-only', hidden: true, title: 'Start the jobs that fail, one after the other', 'data-testid': 'run-failing' });
  #columns = h('div', { class: 'menu', popover: 'auto', id: 'column-menu', role: 'group', 'aria-label': 'Columns' });

  connectedCallback() {
    const picker = button('Columns', () => {}, { class: 'wide-only', popovertarget: 'column-menu', 'data-testid': 'columns-button' });
    this.append(
      h('div', { class: 'toolbar', role: 'toolbar', 'aria-label': 'Filter and sort' },
        this.#filter,
        h('div', { class: 'shows', role: 'group', 'aria-label': 'Show' }, ...this.#shows),
        this.#count,
        this.#failing,
        h('label', { class: 'sort' }, h('span', { class: 'dim' }, 'Sort '), this.#sort), picker),
      this.#columns, this.table);
    this.#columns.addEventListener('toggle', () => {
      this.#place(picker);
      this.#pick();
    });
    this.table.addEventListener('arranged', () => this.#counts());
    this.table.addEventListener('query', () => this.#queried());
    store.on('jobs', () => this.#counts());
    addEventListener('popstate', () => this.#read());
    this.#read();
  }

  /** @param {Partial<import('./job-table.js').Query>} query */
  set(query) {
    this.table.filter(query);
    this.#queried();
  }

  focusFilter() {
    this.#filter.focus();
    this.#filter.select();
  }

  #filtered() {
    this.set({ text: this.#filter.value });
  }

  /** Keeps the address in step, so that it can be passed on. */
  #queried() {
    const { text, show, sort, descending } = this.table.query;
    const search = new URLSearchParams();
    if (text) {
      search.set('q', text);
    }
    if (show !== 'all') {
      search.set('show', show);
    }
    if (sort !== 'config') {
      search.set('sort', sort);
    }
    if (descending) {
      search.set('desc', '1');
    }
    const query = search.toString();
    history.replaceState(history.state, '', `${location.pathname}${query ? `?${query}` : ''}${location.hash}`);
    this.#show();
  }

  /** Takes the query of the address. */
  #read() {
    const search = new URLSearchParams(location.search);
    const show = shows.find(([id]) => id === search.get('show'))?.[0] ?? 'all';
    const sort = search.get('sort') ?? '';
    this.table.filter({ text: search.get('q') ?? '', show, sort: sort in sorts ? sort : 'config', descending: search.has('desc') });
    this.#show();
  }

  #show() {
    const { text, show, sort } = this.table.query;
    if (this.#filter.value !== text) {
      this.#filter.value = text;
    }
    this.#sort.value = sort;
    shows.forEach(([id], i) => setAttribute(/** @type {Element} */ (this.#shows[i]), 'aria-pressed', id === show));
  }

  #counts() {
    const list = store.list();
    const n = {
      all: list.length,
      failed: list.filter((entry) => entry.failing).length,
      running: list.filter((entry) => entry.job.running).length,
      ok: list.filter((entry) => entry.health === 'ok').length,
      paused: list.filter((entry) => entry.job.paused).length,
      disabled: list.filter((entry) => !entry.job.enabled).length,
    };
    shows.forEach(([id], i) => {
      const b = /** @type {HTMLElement} */ (this.#shows[i]);
      setText(/** @type {Element} */ (b.lastElementChild), n[id].toLocaleString('en'));
      b.classList.toggle('none', n[id] === 0);
    });
    this.#failing.hidden = n.failed === 0;
    const shown = this.table.shown.length;
    setText(this.#count, shown === list.length ? '' : `${shown.toLocaleString('en')} of ${count(list.length, 'job')}`);
  }

  /** Lists the columns to choose from. */
  #pick() {
    const chosen = pref('columns');
    const room = () => boxes.forEach(([id, hint]) => {
      hint.hidden = !this.table.crowded.has(id);
    });
    /** @type {[string, HTMLElement][]} */
    const boxes = [];
    replace(this.#columns, ...columns.filter((column) => !column.fixed && !column.there).map((column) => {
      const box = h('input', {
        type: 'checkbox', checked: chosen.includes(column.id),
        onchange: () => {
          const others = pref('columns').filter((id) => id !== column.id);
          setPref('columns', box.checked ? [...others, column.id] : others);
          room();
        },
      });
      const hint = h('span', { class: 'dim' }, 'no room');
      boxes.push([column.id, hint]);
      return h('label', { class: 'check' }, box, column.label, hint);
    }));
    room();
  }

  /** @param {HTMLElement} picker */
  #place(picker) {
    const box = picker.getBoundingClientRect();
    this.#columns.style.top = `${box.bottom + 4}px`;
    this.#columns.style.left = 'auto';
    this.#columns.style.right = `${Math.max(8, innerWidth - box.right)}px`;
  }
}

customElements.define('job-view', JobView);
