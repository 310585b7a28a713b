// Why a job ran here or did not: what would become of a firing now, and what became of
// the last ones.

/** @import {Decision, Why} from './types.js' */
import * as api from './api.js';
import { h, isolated } from './dom.js';
import * as format from './format.js';
import { JobPart } from './job-part.js';
import { missedTable } from './run-history.js';

/** @type {Record<string, string>} */
const kinds = { run: 'is-ok', missed: 'is-failed', abandoned: 'is-failed', denied: 'is-warning', pending: 'is-warning', deferred: 'is-warning' };

/** @param {Why} why */
function draw({ node, now, decisions, missed }) {
  return [
    now ? h('p', { class: `verdict would-${now.action}`, 'data-testid': 'why-now' },
      h('strong', {}, `A firing now would ${now.action === 'run' ? 'run' : 'not run'} on `, isolated(node)), ': ', isolated(now.reason), '.',
      now.owner && now.owner !== node ? h('span', {}, ' Its owner is ', isolated(now.owner), '.') : null) : null,
    h('h3', {}, 'What became of the firings'),
    decisions.length === 0
      ? h('p', { class: 'dim' }, 'No firing was due on this node since the agent started.')
      : h('table', { class: 'list', 'data-testid': 'why-table' },
        h('thead', {}, h('tr', {}, ...['Firing', 'Outcome', 'Why'].map((label) => h('th', { scope: 'col' }, label)))),
        h('tbody', {}, ...[...decisions].reverse().map(row))),
    missed.length > 0 ? missedTable(missed) : null,
  ];
}

/** @param {Decision} d */
function row(d) {
  return h('tr', {},
    h('td', { class: 'tight', title: format.local(d.firing) },
      format.utc(d.firing ?? d.at),
      d.count > 1 ? h('div', { class: 'faint loose' }, `and ${d.count - 1} before, since ${format.utc(d.first)}`) : null),
    h('td', { class: `tight ${kinds[d.outcome] ?? 'dim'}`, text: d.outcome }),
    h('td', {}, isolated(d.reason), h('div', { class: 'faint' }, h('span', { class: 'mono', text: d.code }),
      d.trigger === 'schedule' ? null : ` · ${d.trigger}`, d.owner ? ' · owner ' : null, d.owner ? isolated(d.owner) : null)));
}

/** @extends {JobPart<Why>} */
class JobWhy extends JobPart {
  constructor() {
    super(api.why, draw);
  }
}

customElements.define('job-why', JobWhy);
