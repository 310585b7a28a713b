// When a job fires: its schedule in words, the coming firings, and what may surprise.

/** @import {Next} from './types.js' */
import * as api from './api.js';
import { h, isolated } from './dom.js';
import { firingList } from './firing-list.js';
import * as format from './format.js';
import { frame } from './job-columns.js';
import { JobPart } from './job-part.js';
import { remarks } from './schedule-remarks.js';
import { address } from './schedule-try.js';
import { describe } from './schedule-words.js';
import { store } from './store.js';

const shown = 6;

/** What becomes of a firing while a run goes on. @type {Record<string, string>} */
const policies = { Allow: 'another run starts beside it (Allow)', Forbid: 'nothing starts (Forbid)', Replace: 'it is stopped, and another starts (Replace)' };

/** @param {Next} next */
function draw(next) {
  const entry = store.entries.get(next.name);
  if (!entry) {
    return [];
  }
  const { job } = entry;
  const zone = frame(entry);
  const either = next.dayMatch === 'or';
  const list = [...remarks(job.schedule, zone), overlaps(next, job.history.map((run) => run.duration ?? 0))].filter(Boolean);
  return [
    h('p', {}, isolated(job.schedule, 'mono'), h('span', { class: 'dim' }, `  ${zone}`)),
    h('p', { text: describe(job.schedule, zone, either) || 'This schedule is not one that the page can put into words.' }),
    ...list.map((text) => h('p', { class: 'remark', text })),
    h('h3', {}, 'Next firings'),
    next.firings.length > 0 ? firingList(next.firings, zone, store.now())
      : h('p', { class: 'dim' }, job.schedule === '@reboot' ? 'It runs once, when the agent starts.' : 'None: this schedule never fires again.'),
    h('p', {}, h('a', { href: address({ schedule: job.schedule, zone: zone === 'UTC' ? '' : zone, either }), 'data-testid': 'try-schedule' }, 'Try another schedule')),
    h('h3', {}, 'Settings'),
    h('dl', { class: 'pairs' },
      ...pair('Enabled', job.enabled ? 'yes' : 'no'),
      ...pair('Time zone', zone),
      ...pair('Captured', [job.captureStdout ? 'stdout' : '', job.captureStderr ? 'stderr' : ''].filter(Boolean).join(' and ') || 'nothing'),
      ...(next.concurrencyPolicy ? pair('While it still runs', policies[next.concurrencyPolicy] ?? next.concurrencyPolicy) : []),
      ...(job.clusterPolicy ? pair('Cluster policy', job.clusterPolicy) : []),
      ...pair('Command', job.command)),
  ];
}

/** @param {string} name @param {string} value */
const pair = (name, value) => [h('dt', { text: name }), h('dd', {}, isolated(value))];

/**
 * Whether runs last longer than the time to the next firing.
 * @param {Next} next
 * @param {number[]} durations
 */
function overlaps({ firings: list, concurrencyPolicy: policy }, durations) {
  const gaps = list.slice(1).map((firing, i) => (Date.parse(firing.at) - Date.parse(list[i]?.at ?? '')) / 1000);
  const longest = Math.max(0, ...durations);
  const shortest = Math.min(...gaps);
  return gaps.length > 0 && longest > shortest
    ? `A run took ${format.duration(longest)}, and firings come ${format.span(shortest)} apart: ${policy === undefined ? 'runs may overlap' : `while it still runs, ${policies[policy] ?? policy}`}.`
    : '';
}

/** @extends {JobPart<Next>} */
class JobSchedule extends JobPart {
  constructor() {
    super((job) => api.next(job, shown), draw);
  }
}

customElements.define('job-schedule', JobSchedule);
