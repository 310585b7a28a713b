// What happened when, as lanes for the timeline. Everything is pure.

/** @import {AgentEvent, PeerStatus, Run} from './types.js' */
/** @import {Entry} from './store.js' */
import { healthOfOutcome } from './health.js';
import { statuses } from './members.js';

/**
 * A stretch of a lane. Times are milliseconds of the agent's clock; no end: it goes on.
 * @typedef {{from: number, to: number|null, kind: string, words: string}} Stretch
 */

/** @typedef {{name: string, job: boolean, stretches: Stretch[], marks: {at: number, kind: string, words: string}[]}} Lane */

/**
 * The role of this node over time.
 * @param {AgentEvent[]} events oldest first
 * @returns {Stretch[]}
 */
export function roleStretches(events) {
  /** @type {Stretch[]} */
  const list = [];
  for (const event of events) {
    if (event.kind === 'role' && event.role) {
      const { role } = event;
      const [kind, words] = !role.enabled ? ['is-failed', role.error ?? 'takes no part']
        : role.conflict ? ['is-failed', 'conflict']
        : !role.quorate ? ['is-failed', 'no quorum']
        : role.stopping ? ['is-warning', 'stopping']
        : role.is_leader ? ['is-running', 'leader']
        : ['is-pending', role.leader ? `leader: ${role.leader}` : 'quorum'];
      push(list, Date.parse(event.at), kind, words);
    }
  }
  return list;
}

/**
 * The statuses of each peer over time, by host.
 * @param {AgentEvent[]} events oldest first
 * @returns {Map<string, {name: string, stretches: Stretch[]}>}
 */
export function memberStretches(events) {
  /** @type {Map<string, {name: string, stretches: Stretch[]}>} */
  const lanes = new Map();
  for (const { kind, member, at } of events) {
    if (kind === 'member' && member) {
      const lane = lanes.get(member.host) ?? { name: '', stretches: [] };
      lane.name = member.node_name ?? member.host;
      lanes.set(member.host, lane);
      push(lane.stretches, Date.parse(at), statuses[/** @type {PeerStatus} */ (member.status)]?.kind ?? 'is-disabled', member.stopping ? 'stopping' : member.status);
    }
  }
  return lanes;
}

/**
 * Ends the newest stretch and begins another, unless it is the same.
 * @param {Stretch[]} list
 * @param {number} at
 * @param {string} kind
 * @param {string} words
 */
function push(list, at, kind, words) {
  const before = list.at(-1);
  if (before && before.kind === kind && before.words === words) {
    return;
  }
  if (before) {
    before.to = at;
  }
  list.push({ from: at, to: null, kind, words });
}

/**
 * The runs of each job, what it missed, and when it fires next; jobs without any of it in
 * sight are left out. The lanes with the newest happenings come first.
 * @param {Entry[]} entries
 * @param {AgentEvent[]} events oldest first
 * @param {Map<string, number>} runningSince
 * @param {number} from
 * @param {number} to
 * @returns {Lane[]}
 */
export function jobLanes(entries, events, runningSince, from, to) {
  /** @type {Map<string, Lane & {ids: Set<string>, newest: number}>} */
  const lanes = new Map(entries.map(({ job }) => [job.name, { name: job.name, job: true, stretches: [], marks: [], ids: new Set(), newest: 0 }]));
  /** @type {(name: string, run: import('./types.js').Run) => void} */
  const add = (name, run) => {
    const lane = lanes.get(name);
    const id = run.run_id ?? run.finished_at;
    const end = Date.parse(run.finished_at);
    if (lane && !lane.ids.has(id) && run.started_at !== null && end >= from) {
      lane.ids.add(id);
      lane.newest = Math.max(lane.newest, end);
      lane.stretches.push({ from: Date.parse(run.started_at), to: end, kind: `is-${healthOfOutcome(run.outcome)}`, words: `${run.outcome}${run.fail_reason ? `: ${run.fail_reason}` : ''}` });
    }
  };
  for (const event of events) {
    const lane = event.job === undefined ? undefined : lanes.get(event.job);
    if (event.run && event.job !== undefined) {
      add(event.job, event.run);
    } else if (event.missed && lane) {
      const at = Date.parse(event.missed.firing ?? event.missed.at);
      if (at >= from) {
        lane.newest = Math.max(lane.newest, at);
        lane.marks.push({ at, kind: 'missed', words: `missed: ${event.missed.reason}` });
      }
    }
  }
  for (const { job, nextAt } of entries) {
    const lane = lanes.get(job.name);
    if (!lane) {
      continue;
    }
    if (job.last_run) {
      add(job.name, job.last_run);
    }
    if (job.running) {
      const since = runningSince.get(job.name);
      lane.newest = Infinity;
      lane.stretches.push({ from: since ?? from, to: null, kind: 'is-running', words: 'running' });
    }
    if (nextAt !== null && nextAt <= to && job.enabled) {
      lane.marks.push({ at: nextAt, kind: job.paused ? 'held' : 'next', words: job.paused ? 'due, but paused' : 'next firing' });
    }
  }
  return [...lanes.values()]
    .filter((lane) => lane.stretches.length > 0 || lane.marks.length > 0)
    .sort((a, b) => b.newest - a.newest || (a.name < b.name ? -1 : 1));
}

export const heatBuckets = 24;
// So many runs of a job are kept: before the oldest of that many there may have been more.
const mostKept = 50;
// The worst of a cell gives its colour.
const worst = ['failed', 'lost', 'cancelled', 'ok'];

/**
 * Spreads the runs of a job over the cells of a heat map.
 * @param {Run[]} runs oldest first
 * @param {number} from
 * @param {number} to
 * @returns {{cells: {n: number, failed: number, kind: string}[], unknown: number}} kind: ''
 *   for a cell without a run; unknown: how many of the first cells are older than what is kept
 */
export function heatCells(runs, from, to) {
  const cells = Array.from({ length: heatBuckets }, () => ({ n: 0, failed: 0, kind: '' }));
  const bucket = (/** @type {Run} */ run) => Math.min(Math.floor((heatBuckets * (Date.parse(run.finished_at) - from)) / (to - from)), heatBuckets - 1);
  for (const run of runs) {
    const cell = cells[bucket(run)];
    if (cell) {
      const health = healthOfOutcome(run.outcome);
      cell.n++;
      cell.failed += Number(health === 'failed');
      cell.kind = cell.kind === '' || worst.indexOf(health) < worst.indexOf(cell.kind) ? health : cell.kind;
    }
  }
  return { cells, unknown: runs.length >= mostKept && runs[0] ? Math.max(0, bucket(runs[0])) : 0 };
}
