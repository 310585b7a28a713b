// All jobs on all nodes, as the nodes last told.

/** @import {FleetNode, JobSummary} from './types.js' */
import { h, isolated, replace, setAttribute, setText } from './dom.js';
import * as format from './format.js';
import { statuses } from './members.js';
import { store } from './store.js';

// More rows than that are not made; the filter finds the rest.
const mostRows = 400;

class FleetView extends HTMLElement {
  #open = false;
  #failing = false;
  #head = h('p', { class: 'dim', role: 'status' });
  #filter = h('input', { type: 'search', placeholder: 'Filter jobs', 'aria-label': 'Filter by name', spellcheck: 'false', oninput: () => this.#draw() });
  #only = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => {
    this.#failing = !this.#failing;
    setAttribute(this.#only, 'aria-pressed', this.#failing);
    this.#draw();
  } }, 'Failing only');
  #scroll = h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Jobs by node' });
  #more = h('p', { class: 'dim' });

  static observedAttributes = ['hidden'];

  connectedCallback() {
    this.dataset['testid'] = 'fleet-view';
    this.append(h('div', { class: 'toolbar' }, h('h2', {}, 'Fleet'), this.#filter, this.#only, this.#head), this.#scroll, this.#more);
    this.#scroll.addEventListener('click', (event) => {
      const name = /** @type {Element} */ (event.target).closest('[data-open]')?.getAttribute('data-open');
      if (name) {
        document.dispatchEvent(new CustomEvent('open-job', { detail: name }));
      }
    });
    // Nothing is taken away from under a finger: the next answer comes soon.
    store.on('fleet', () => this.matches(':active') || this.#draw());
    store.on('tick', () => this.#tick());
    this.attributeChangedCallback();
  }

  /** The fleet is asked for only while somebody looks. */
  attributeChangedCallback() {
    const open = this.isConnected && !this.hidden;
    if (open !== this.#open) {
      this.#open = open;
      store.wantFleet(open);
      this.#draw();
    }
  }

  #draw() {
    if (!this.#open) {
      return;
    }
    const { fleet } = store;
    if (!fleet?.enabled) {
      replace(this.#scroll, h('p', { class: 'dim padded' }, fleet ? 'There are no other nodes: a fleet needs a gossip cluster.' : 'Loading …'));
      setText(this.#head, '');
      return;
    }
    const { nodes } = fleet;
    const names = [...new Set(nodes.flatMap((node) => Object.keys(node.jobs ?? {})))].sort();
    const failing = (/** @type {string} */ name) => nodes.some((node) => node.jobs?.[name]?.enabled && node.jobs[name].last?.outcome === 'failure');
    const text = this.#filter.value.toLowerCase();
    const shown = names.filter((name) => (!this.#failing || failing(name)) && name.toLowerCase().includes(text));
    const running = names.filter((name) => nodes.some((node) => node.jobs?.[name]?.running)).length;
    setText(this.#head, `${format.count(nodes.length, 'node')} · ${format.count(names.length, 'job')} · ${running} running · ${names.filter(failing).length} failing · told every ${fleet.interval} s${store.trouble.fleet ? ` · ⚠ old: ${store.trouble.fleet}` : ''}`);
    this.classList.toggle('old', store.trouble.fleet !== '');
    setText(this.#more, shown.length > mostRows ? `${shown.length - mostRows} more: use the filter.` : shown.length === 0 ? 'No job fits.' : '');
    replace(this.#scroll, h('table', { class: 'fleet' },
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Job'), ...nodes.map(nodeHead))),
      h('tbody', {}, ...shown.slice(0, mostRows).map((name) => h('tr', { 'data-job': name },
        h('th', { scope: 'row' }, h('button', { type: 'button', class: 'plain', 'data-open': name }, isolated(name))),
        ...nodes.map((node) => cell(name, node)))))));
    this.#tick();
  }

  #tick() {
    if (!this.#open) {
      return;
    }
    const now = store.now();
    for (const el of this.#scroll.querySelectorAll('[data-at]')) {
      setText(el, format.age(now - Number(el.getAttribute('data-at'))));
    }
  }
}

/** @param {FleetNode} node */
function nodeHead(node) {
  const { kind, glyph, words } = statuses[node.status];
  return h('th', { scope: 'col', title: `${node.host ?? 'this node'}: ${words}` },
    h('span', { class: kind, 'aria-hidden': 'true' }, `${glyph} `), isolated(node.node_name ?? node.host ?? ''),
    node.self ? h('span', { class: 'chip is-running' }, 'here') : null,
    node.truncated ? h('span', { class: 'chip is-warning', title: 'It has told only some of its jobs' }, 'partial') : null,
    h('div', { class: 'faint' }, node.self ? 'live' : node.as_of ? h('span', { 'data-at': Date.parse(node.as_of) }) : 'never seen'));
}

/**
 * @param {string} name
 * @param {FleetNode} node
 */
function cell(name, node) {
  const owner = store.entries.get(name)?.job.clusterOwner;
  const mark = owner && owner === node.node_name ? ' owned' : '';
  if (!node.jobs) {
    return h('td', { class: 'faint', title: 'no data' }, '·');
  }
  const job = node.jobs[name];
  if (!job) {
    return h('td', { class: 'faint', title: 'not configured there' }, '—');
  }
  const old = node.self || node.status === 'agreed' ? '' : ' old';
  return h('td', { class: `${stateClass(job)}${mark}${old}`, title: details(job) }, ...state(job));
}

/** @param {JobSummary} job */
function stateClass(job) {
  if (job.running) {
    return 'is-running';
  }
  if (!job.enabled) {
    return 'is-disabled';
  }
  return { success: 'is-ok', failure: 'is-failed', cancelled: 'is-cancelled' }[job.last?.outcome ?? ''] ?? 'is-pending';
}

/** @param {JobSummary} job */
function state(job) {
  if (job.running) {
    return ['▶ running'];
  }
  if (!job.enabled) {
    return ['◌ off'];
  }
  if (!job.last) {
    return ['◔'];
  }
  const sign = { success: '● ok', failure: '✗ failure', cancelled: '⊘ cancelled' }[job.last.outcome ?? ''] ?? '?';
  const at = Date.parse(job.last.finished_at ?? '');
  return [h('span', {}, `${sign} `), Number.isNaN(at) ? null : h('span', { class: 'dim', 'data-at': at })];
}

/** @param {JobSummary} job */
function details(job) {
  const lines = [];
  if (job.last) {
    lines.push(`${job.last.outcome ?? 'unknown outcome'}, ${format.exit(job.last.exit_code)}, took ${format.duration(job.last.duration)}`);
    if (job.last.finished_at && !Number.isNaN(Date.parse(job.last.finished_at))) {
      lines.push(`finished ${format.utc(job.last.finished_at)}`);
    }
  } else {
    lines.push('never ran there');
  }
  if (job.scheduled_in !== null) {
    lines.push(`next ${format.countdown(1000 * job.scheduled_in)}`);
  }
  return lines.join('\n');
}

customElements.define('fleet-view', FleetView);
