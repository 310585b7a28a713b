// The columns of the job table: how each cell is made, and how it is brought up to date
// in place. tick is for what changes with time alone.

/** @import {Entry} from './store.js' */
import { button, h, isolated, setAttribute, setText } from './dom.js';
import * as format from './format.js';
import { healthOfOutcome, healths } from './health.js';
import { describe } from './schedule-words.js';
import { drawTrend, trend } from './trend.js';
import { store } from './store.js';

/**
 * @typedef {object} Column
 * @property {string} id
 * @property {string} label
 * @property {number} least width in rem
 * @property {number} [grow] share of the room that is left
 * @property {string} [sort] key of sorting
 * @property {boolean} [fixed] can't be hidden
 * @property {() => boolean} [there] whether it makes sense at present
 * @property {(cell: HTMLElement) => void} make
 * @property {(cell: HTMLElement, entry: Entry) => void} draw
 * @property {(cell: HTMLElement, entry: Entry, now: number) => void} [tick]
 */

/** @param {HTMLElement} cell @param {number} i */
const part = (cell, i) => /** @type {HTMLElement} */ (cell.children[i]);

/**
 * How old a run is, or "never".
 * @param {Entry} entry
 * @param {number} now
 */
function lastAge(entry, now) {
  const last = entry.job.last_run;
  return last ? format.age(now - Date.parse(last.finished_at)) : 'never';
}

/**
 * The badge of a run that did not succeed.
 * @param {Entry} entry
 */
function badge(entry) {
  const last = entry.job.last_run;
  if (!last || last.outcome === 'success') {
    return '';
  }
  return last.outcome === 'failure' ? format.exit(last.exit_code) : last.outcome;
}

/**
 * The time zone in which the schedule counts.
 * @param {Entry} entry
 */
export const frame = ({ job }) => job.timezone ?? (job.utc ? 'UTC' : 'local');

/**
 * @param {Entry} entry
 * @param {number} now
 */
function nextText(entry, now) {
  const { job, nextAt } = entry;
  if (!job.enabled) {
    return '–';
  }
  if (job.running) {
    return 'running';
  }
  if (store.notReady && nextAt !== null && nextAt < now) {
    return 'not here';
  }
  if (nextAt === null) {
    return job.schedule === '@reboot' ? 'at boot' : 'never';
  }
  return format.countdown(nextAt - now);
}

/** @type {Column[]} */
export const columns = [
  {
    id: 'status', label: 'Status', least: 9.2, sort: 'status', fixed: true,
    make: (cell) => cell.append(h('span', { class: 'glyph', 'aria-hidden': 'true' }), h('span', { class: 'label' }), h('span', { class: 'chip', hidden: true })),
    draw(cell, { job, health, failing }) {
      cell.className = `cell status is-${health}`;
      setText(part(cell, 0), healths[health].glyph);
      setText(part(cell, 1), healths[health].label);
      const chip = part(cell, 2);
      chip.hidden = !((failing && job.running) || (job.paused && health !== 'paused'));
      chip.className = `chip ${job.paused ? 'is-paused' : 'is-failed'}`;
      setText(chip, job.paused ? 'paused' : '✗ last');
      cell.title = job.paused
        ? `paused until ${format.utc(job.paused.until)}${job.paused.by ? ` by ${job.paused.by}` : ''}${job.paused.note ? `: ${job.paused.note}` : ''}`
        : (job.last_run?.fail_reason ?? '');
    },
  },
  {
    id: 'job', label: 'Job', least: 10, grow: 2.6, sort: 'name', fixed: true,
    make: (cell) => cell.append(isolated('', 'name'), isolated('', 'command mono')),
    draw(cell, { job }) {
      setText(part(cell, 0), job.name);
      setText(part(cell, 1), job.command);
      cell.title = `${job.name}\n${job.command}`;
    },
  },
  {
    id: 'owner', label: 'Owner', least: 6, grow: .8,
    there: () => store.cluster?.distribution === 'spread' && store.cluster.elect_leader === true,
    make: (cell) => cell.append(isolated('')),
    draw(cell, { job }) {
      const everywhere = job.clusterPolicy === 'EveryNode';
      const owner = everywhere ? 'all nodes' : (job.clusterOwner ?? (job.clusterOwner === null ? 'no quorum' : '–'));
      setText(part(cell, 0), owner);
      cell.classList.toggle('mine', !everywhere && owner === store.node);
      cell.classList.toggle('is-failed', job.clusterOwner === null);
    },
  },
  {
    id: 'policy', label: 'Policy', least: 6.6,
    make() { /* text only */ },
    draw: (cell, { job }) => setText(cell, job.clusterPolicy ?? '–'),
  },
  {
    id: 'schedule', label: 'Schedule', least: 7, grow: 1,
    make: (cell) => cell.append(isolated('', 'mono')),
    draw(cell, entry) {
      setText(part(cell, 0), entry.job.schedule);
      cell.title = describe(entry.job.schedule, frame(entry));
    },
  },
  {
    id: 'zone', label: 'Zone', least: 8,
    make() { /* text only */ },
    draw: (cell, entry) => setText(cell, frame(entry)),
  },
  {
    id: 'last', label: 'Last run', least: 9.6, grow: .8, sort: 'last',
    make: (cell) => cell.append(h('span', {}), h('span', { class: 'chip', hidden: true })),
    draw(cell, entry) {
      const text = badge(entry);
      const chip = part(cell, 1);
      chip.hidden = text === '';
      setText(chip, text);
      const last = entry.job.last_run;
      chip.className = `chip is-${healthOfOutcome(last?.outcome ?? '')}`;
      cell.title = last ? `${format.utc(last.finished_at)}${last.fail_reason ? `\n${last.fail_reason}` : ''}` : '';
    },
    tick: (cell, entry, now) => setText(part(cell, 0), lastAge(entry, now)),
  },
  {
    id: 'took', label: 'Took', least: 6.4, sort: 'duration',
    make() { /* text only */ },
    draw: (cell, { job }) => cell.classList.toggle('is-running', job.running),
    tick(cell, { job }, now) {
      const since = job.running ? store.runningSince.get(job.name) : undefined;
      setText(cell, since ? `${format.span(Math.max(0, now - since) / 1000)} …` : format.duration(job.last_run?.duration));
    },
  },
  {
    id: 'next', label: 'Next', least: 7.6, sort: 'next',
    make() { /* text only */ },
    draw(cell, entry) {
      const { nextAt } = entry;
      cell.title = nextAt === null ? '' : `${format.utc(nextAt)}\n${format.local(nextAt)} here`;
      cell.classList.toggle('struck', entry.job.paused !== undefined);
    },
    tick: (cell, entry, now) => setText(cell, nextText(entry, now)),
  },
  {
    id: 'nextat', label: 'Next at', least: 8.6,
    make() { /* text only */ },
    draw(cell, { nextAt }) {
      setText(cell, nextAt === null ? '–' : new Date(nextAt).toLocaleString(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' }));
    },
  },
  {
    id: 'rate', label: 'Rate', least: 4.6,
    make() { /* text only */ },
    draw(cell, { job }) {
      const ok = job.history.filter((run) => run.outcome === 'success').length;
      const decided = ok + job.history.filter((run) => run.outcome === 'failure').length;
      setText(cell, decided === 0 ? '–' : `${Math.floor((100 * ok) / decided)} %`);
    },
  },
  {
    id: 'trend', label: 'Trend', least: 7.6,
    make: (cell) => cell.append(trend()),
    draw: (cell, { job }) => drawTrend(/** @type {SVGSVGElement} */ (cell.children[0]), job.history),
  },
  {
    id: 'actions', label: 'Actions', least: 8.6, fixed: true,
    make: (cell) => cell.append(
      button('Run', () => {}, { class: 'small', 'data-act': 'run', 'data-testid': 'run-button' }),
      button('Stop', () => {}, { class: 'small danger', 'data-act': 'cancel', 'data-testid': 'cancel-button', hidden: true }),
      button('Logs', () => {}, { class: 'small plain', 'data-act': 'logs', 'data-testid': 'logs-button' }),
    ),
    draw(cell, { job }) {
      const [run, stop, logs] = /** @type {HTMLButtonElement[]} */ ([...cell.children]);
      if (run && stop && logs) {
        run.hidden = job.running;
        run.disabled = !job.enabled;
        stop.hidden = !job.running;
        setAttribute(run, 'aria-label', `Run ${job.name}`);
        setAttribute(stop, 'aria-label', `Stop ${job.name}`);
        setAttribute(logs, 'aria-label', `Logs of ${job.name}`);
      }
    },
  },
];

/**
 * The ways to sort, each by ascending order.
 * @type {Record<string, {label: string, compare: (a: Entry, b: Entry) => number}>}
 */
export const sorts = {
  config: { label: 'as configured', compare: () => 0 },
  name: { label: 'name', compare: (a, b) => (a.job.name < b.job.name ? -1 : Number(a.job.name > b.job.name)) },
  status: { label: 'status', compare: (a, b) => healths[a.health].rank - healths[b.health].rank },
  last: { label: 'last run', compare: (a, b) => lastKey(b) - lastKey(a) },
  next: { label: 'next run', compare: (a, b) => (a.nextAt ?? Infinity) - (b.nextAt ?? Infinity) || 0 },
  duration: { label: 'duration', compare: (a, b) => (b.job.last_run?.duration ?? -1) - (a.job.last_run?.duration ?? -1) },
};

/** @param {Entry} entry */
const lastKey = (entry) => (entry.job.last_run ? Date.parse(entry.job.last_run.finished_at) : 0);
