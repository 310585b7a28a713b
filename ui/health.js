// What a job's state is called and how it looks. Everything is pure.

/** @import {Job, Run} from './types.js' */

/** @typedef {'running'|'failed'|'pending'|'cancelled'|'ok'|'disabled'|'paused'|'lost'} Health */

/**
 * The names and glyphs; the shapes differ as well as the colours. The order is that of
 * sorting by status.
 * @type {Record<Health, {label: string, glyph: string, rank: number}>}
 */
export const healths = {
  running: { label: 'Running', glyph: '▶', rank: 0 },
  failed: { label: 'Failed', glyph: '✗', rank: 1 },
  lost: { label: 'Lost', glyph: '?', rank: 2 },
  pending: { label: 'Pending', glyph: '◔', rank: 3 },
  cancelled: { label: 'Cancelled', glyph: '⊘', rank: 4 },
  paused: { label: 'Paused', glyph: '‖', rank: 5 },
  ok: { label: 'OK', glyph: '●', rank: 6 },
  disabled: { label: 'Disabled', glyph: '◌', rank: 7 },
};

/** @type {Record<string, Health>} */
const outcomes = { success: 'ok', failure: 'failed', cancelled: 'cancelled', lost: 'lost' };

/**
 * @param {string} outcome
 * @returns {Health}
 */
export function healthOfOutcome(outcome) {
  return outcomes[outcome] ?? 'pending';
}

/**
 * A failure outranks a pause: who pauses a broken job must still see that it is broken.
 * @param {Job} job
 * @returns {Health}
 */
export function healthOf(job) {
  if (!job.enabled) {
    return 'disabled';
  }
  if (job.running) {
    return 'running';
  }
  const last = job.last_run ? healthOfOutcome(job.last_run.outcome) : 'pending';
  return job.paused && last !== 'failed' ? 'paused' : last;
}

/**
 * Whether the newest run failed, also while the next one is running.
 * @param {Job} job
 */
export function failing(job) {
  return job.enabled && job.last_run?.outcome === 'failure';
}

/**
 * Groups failing jobs by what they have in common.
 * @param {Job[]} jobs failing ones
 * @returns {{exit: number|null, reason: string, jobs: Job[], within: number}|null} the largest
 *   group of two or more; within: seconds between the first and the last failure
 */
export function likelyCause(jobs) {
  /** @type {Map<string, Job[]>} */
  const groups = new Map();
  for (const job of jobs) {
    const key = `${job.last_run?.exit_code} ${job.last_run?.fail_reason}`;
    const group = groups.get(key);
    if (group) {
      group.push(job);
    } else {
      groups.set(key, [job]);
    }
  }
  const largest = [...groups.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
  if (largest.length < 2) {
    return null;
  }
  const ends = largest.map((job) => Date.parse(/** @type {Run} */ (job.last_run).finished_at));
  return {
    exit: largest[0]?.last_run?.exit_code ?? null,
    reason: largest[0]?.last_run?.fail_reason ?? '',
    jobs: largest,
    within: (Math.max(...ends) - Math.min(...ends)) / 1000,
  };
}
