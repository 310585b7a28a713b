// The finished runs of a job on this node: sums, a chart, a table, and what was missed.

/** @import {Missed, Run, Runs} from './types.js' */
import * as api from './api.js';
import { h, isolated, svg } from './dom.js';
import * as format from './format.js';
import { healthOfOutcome, healths } from './health.js';
import { JobPart } from './job-part.js';

/** @param {Runs} answer */
function draw({ runs, stats, missed }) {
  if (runs.length === 0 && !missed) {
    return [h('p', { class: 'dim' }, 'No run of this job has finished on this node yet.')];
  }
  const newest = [...runs].reverse();
  return [
    h('div', { class: 'tiles' },
      tile('runs', String(stats.total)),
      tile('success rate', format.percent(stats.success_rate)),
      tile('ok / failed', `${stats.success} / ${stats.failure}`, stats.failure > 0 ? 'is-failed' : ''),
      tile('average', format.duration(stats.avg_duration)),
      tile('shortest', format.duration(stats.min_duration)),
      tile('longest', format.duration(stats.max_duration))),
    runs.length > 0 ? chart(runs) : null,
    runs.length > 0 ? h('div', { class: 'scrolled', tabindex: '0', role: 'group', 'aria-label': 'Runs' }, h('table', { class: 'list', 'data-testid': 'run-table' },
      h('thead', {}, h('tr', {}, ...['Outcome', 'Exit', 'Finished', 'Took', 'Reason'].map((label) => h('th', { scope: 'col' }, label)))),
      h('tbody', {}, ...newest.map(row)))) : null,
    missed ? missedTable(missed) : null,
  ];
}

/**
 * @param {string} label
 * @param {string} value
 * @param {string} [kind]
 */
function tile(label, value, kind) {
  return h('div', { class: 'tile' }, h('span', { class: `value ${kind ?? ''}`, text: value }), h('span', { class: 'dim', text: label }));
}

/** @param {Run} run */
function row(run) {
  const health = healthOfOutcome(run.outcome);
  const how = [
    run.trigger && run.trigger !== 'schedule' ? run.trigger : '',
    run.attempt && run.attempt > 1 ? `attempt ${run.attempt}` : '',
    run.cpu_seconds !== undefined ? `CPU ${format.duration(run.cpu_seconds)}` : '',
    run.max_rss_bytes ? `memory ${format.bytes(run.max_rss_bytes)}` : '',
  ].filter(Boolean).join(' · ');
  return h('tr', {},
    h('td', { class: `tight is-${health}` }, h('span', { 'aria-hidden': 'true' }, `${healths[health].glyph} `), run.outcome),
    h('td', { class: 'tight' }, run.outcome === 'success' ? '0' : run.exit_code === null ? '–' : format.exit(run.exit_code)),
    h('td', { class: 'tight', title: format.local(run.finished_at) }, format.utc(run.finished_at)),
    h('td', { class: 'tight' }, format.duration(run.duration)),
    h('td', {}, isolated([run.fail_reason, ...(run.notes ?? [])].filter(Boolean).join('; ')), how ? h('div', { class: 'faint' }, how) : null));
}

/** @param {Run[]} runs oldest first */
function chart(runs) {
  const [width, height, wide] = [600, 100, 12];
  const longest = Math.max(0.001, ...runs.map((run) => run.duration ?? 0));
  const bars = runs.map((run, i) => {
    const tall = Math.max(2, (height * (run.duration ?? 0)) / longest);
    const health = healthOfOutcome(run.outcome);
    return svg('rect', { class: `is-${health}`, x: width - (runs.length - i) * wide, y: height - tall, width: wide - 3, height: tall, rx: 1.5 },
      svg('title', {}, `${run.outcome}, ${format.duration(run.duration)}, ${format.utc(run.finished_at)}`));
  });
  return svg('svg', { class: 'chart', viewBox: `0 0 ${width} ${height + 2}`, preserveAspectRatio: 'xMaxYMid meet', role: 'img', 'aria-label': `Durations of the last ${format.count(runs.length, 'run')}, the newest at the right; the longest took ${format.duration(longest)}` },
    svg('line', { class: 'axis', x1: 0, x2: width, y1: height + 1, y2: height + 1 }), ...bars,
    svg('text', { x: 0, y: 12 }, format.duration(longest)));
}

/** @param {Missed[]} missed oldest first */
export function missedTable(missed) {
  return h('section', {},
    h('h3', {}, 'Missed'),
    h('table', { class: 'list', 'data-testid': 'missed-table' },
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Firing'), h('th', { scope: 'col' }, 'Why it did not run'))),
      h('tbody', {}, ...[...missed].reverse().map((m) => h('tr', {},
        h('td', { class: 'tight', title: format.local(m.firing) }, format.utc(m.firing)),
        h('td', {}, isolated(m.reason), h('div', { class: 'faint mono', text: m.code })))))));
}

/** @extends {JobPart<Runs>} */
class RunHistory extends JobPart {
  constructor() {
    super(api.runs, draw);
  }
}

customElements.define('run-history', RunHistory);
