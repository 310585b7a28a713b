// What a job prints, run after run.

import * as api from './api.js';
import { store } from './store.js';

/** @import {LogLine} from './types.js' */

// The least time in ms between two readings of which the first brought nothing.
const pause = 2000;

/**
 * Follows what a job prints: first what is kept of its newest run, then what comes, then
 * the same of the next run.
 * @param {string} name
 * @param {{
 *   signal: AbortSignal,
 *   after: string,
 *   open: () => void,
 *   take: (lines: LogLine[], lastID: string) => void,
 *   ended: (reason: string) => void,
 *   failed: (error: unknown) => boolean,
 * }} options after is the id of the newest line that is known; open is called when a stream
 * begins, take with the lines of one run, ended when it has no more of them, or with
 * no-output, and failed when the stream was cut off (error is null) or was refused: whether
 * to try again
 * @returns {Promise<void>}
 */
export async function followOutput(name, { signal, after, open, take, ended, failed }) {
  while (!signal.aborted) {
    const began = Date.now();
    const before = newestRun(name);
    let came = false;
    try {
      const { reason, run } = await api.logs(name, {
        signal, after, open,
        take: (lines, id) => {
          came = true;
          after = id;
          take(lines, id);
        },
      });
      if (reason !== 'cut') {
        ended(reason);
        await nextRun(name, run, before, signal);
        if (came) {
          continue;
        }
      } else if (!failed(null)) {
        return;
      }
    } catch (error) {
      if (signal.aborted || !failed(error)) {
        return;
      }
    }
    const rest = pause - (Date.now() - began);
    if (rest > 0 && !signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, rest));
    }
  }
}

/** The last run that is over, as far as the page knows. @param {string} name of a job */
const newestRun = (name) => store.entries.get(name)?.job.last_run?.run_id ?? '';

/**
 * Waits until a job runs again, or has done so: a short run is over before the page hears
 * of it, and the output of a run ends before the page hears that it is over.
 * @param {string} name of the job
 * @param {string} run whose output has ended, '' if it has never run
 * @param {string} before the last run that was over when that output was asked for
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function nextRun(name, run, before, signal) {
  const another = () => {
    const newest = newestRun(name);
    return newest === run ? store.entries.get(name)?.job.running : newest !== before;
  };
  return new Promise((resolve) => {
    const done = () => {
      off();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const off = store.on('jobs', (changed) => {
      if ((changed === null || changed.has(name)) && another()) {
        done();
      }
    });
    signal.addEventListener('abort', done);
    if (signal.aborted || another()) {
      done();
    }
  });
}
