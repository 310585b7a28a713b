// When a job fires: its schedule in words, the coming firings, and what may surprise.

/** @import {Next} from './types.js' */
import * as api from './api.js';
import { h, isolated, replace } from './dom.js';
import * as format from './format.js';
import { frame } from './job-columns.js';
import { describe, remarks } from './schedule-words.js';
import { store } from './store.js';

const shown = 6;

export class JobSchedule extends HTMLElement {
  #job = '';
  #asked = 0;

  /** @param {string} job */
  show(job) {
    if (this.#job !== job) {
      this.#job = job;
      replace(this, h('p', { class: 'dim' }, 'Loading …'));
    }
    this.refresh();
  }

  refresh() {
    void this.#load();
  }

  async #load() {
    const asked = ++this.#asked;
    /** @type {Next|null} */
    let next = null;
    let problem = '';
    try {
      next = await api.next(this.#job, shown);
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    if (asked === this.#asked) {
      this.#draw(next, problem);
    }
  }

  /** @param {Next|null} next @param {string} problem */
  #draw(next, problem) {
    const entry = store.entries.get(this.#job);
    if (!entry) {
      return;
    }
    const { job } = entry;
    const zone = frame(entry);
    const list = remarks(job.schedule, zone);
    const overlap = next ? overlaps(next, job.history.map((run) => run.duration ?? 0)) : '';
    if (overlap) {
      list.push(overlap);
    }
    replace(this,
      h('p', {}, isolated(job.schedule, 'mono'), h('span', { class: 'dim' }, `  ${zone}`)),
      h('p', { text: describe(job.schedule, zone) || 'This schedule is not one that the page can put into words.' }),
      ...list.map((text) => h('p', { class: 'remark', text })),
      h('h3', {}, 'Next firings'),
      problem ? h('p', { class: 'is-warning', text: problem }) : null,
      next && next.firings.length === 0 ? h('p', { class: 'dim' }, job.schedule === '@reboot' ? 'It runs once, when the agent starts.' : 'None: this schedule never fires again.') : null,
      next && next.firings.length > 0 ? firings(next, zone) : null,
      h('h3', {}, 'Settings'),
      h('dl', { class: 'pairs' },
        ...pair('Enabled', job.enabled ? 'yes' : 'no'),
        ...pair('Time zone', zone),
        ...pair('Captured', [job.captureStdout ? 'stdout' : '', job.captureStderr ? 'stderr' : ''].filter(Boolean).join(' and ') || 'nothing'),
        ...(job.clusterPolicy ? pair('Cluster policy', job.clusterPolicy) : []),
        ...pair('Command', job.command)));
  }
}

/** @param {string} name @param {string} value */
const pair = (name, value) => [h('dt', { text: name }), h('dd', {}, isolated(value))];

/** @param {Next} next @param {string} zone */
function firings(next, zone) {
  const foreign = zone !== 'UTC';
  return h('table', { class: 'list', 'data-testid': 'next-table' },
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, foreign ? `Local (${zone})` : 'UTC'), foreign ? h('th', { scope: 'col' }, 'UTC') : null, h('th', { scope: 'col' }, 'In'), h('th', { scope: 'col' }, 'Note'))),
    h('tbody', {}, ...next.firings.map(({ at, local, note }) => h('tr', {},
      // The text of the agent: the browser may not know the zone.
      h('td', { class: 'tight' }, local.slice(0, 19).replace('T', ' ')),
      foreign ? h('td', { class: 'tight' }, format.utc(at)) : null,
      h('td', { class: 'tight' }, format.countdown(Date.parse(at) - store.now())),
      h('td', { text: note ?? '' })))));
}

/**
 * Whether runs last longer than the time to the next firing.
 * @param {Next} next
 * @param {number[]} durations
 */
function overlaps({ firings: list }, durations) {
  const gaps = list.slice(1).map((firing, i) => (Date.parse(firing.at) - Date.parse(list[i]?.at ?? '')) / 1000);
  const longest = Math.max(0, ...durations);
  const shortest = Math.min(...gaps);
  return gaps.length > 0 && longest > shortest
    ? `A run took ${format.duration(longest)}, and firings come ${format.span(shortest)} apart: runs may overlap, and concurrencyPolicy decides then.`
    : '';
}

customElements.define('job-schedule', JobSchedule);
