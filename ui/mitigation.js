// Starting or cancelling several jobs, one after the other, and a summary of the incident
// to pass on.

import * as api from './api.js';
import { copy } from './actions.js';
import { open } from './dialog.js';
import { button, h, isolated, setText } from './dom.js';
import * as format from './format.js';
import { likelyCause } from './health.js';
import { store } from './store.js';
import { toast } from './toasts.js';

// Between two jobs, so that what they share is not hit by all at once.
const stagger = 400;
// A job that does not want to end keeps its request waiting: the next ones must not wait
// for it, but connections are few.
const atOnce = 3;

/** @param {string[]} names */
export function openMitigation(names) {
  const rows = names.map((name) => {
    const box = h('input', { type: 'checkbox', checked: true, onchange: () => draw() });
    const said = h('span', { class: 'dim' });
    return { name, box, said, item: h('li', { 'data-job': name }, h('label', { class: 'check' }, box, isolated(name, 'name')), said) };
  });
  /** @typedef {typeof rows[number]} Row */
  const tally = h('p', { role: 'status', tabindex: '-1' });
  const startAll = button('', () => void all('started', api.start, () => true), { class: 'primary' });
  const cancelAll = button('', () => void all('cancelled', api.cancel, runs), { class: 'danger' });
  const abort = button('Abort', () => busy?.abort());
  /** @type {AbortController|null} */
  let busy = null;

  /** @param {Row} row */
  const runs = ({ name }) => store.entries.get(name)?.job.running === true;
  /** @param {(row: Row) => boolean} fits */
  const chosen = (fits) => rows.filter((row) => row.box.checked && fits(row));

  const draw = () => {
    const [start, cancel] = [chosen(() => true).length, chosen(runs).length];
    setText(startAll, start === names.length ? `Start all ${start}` : `Start ${start}`);
    setText(cancelAll, `Cancel ${cancel} running`);
    startAll.disabled = busy !== null || start === 0;
    cancelAll.disabled = busy !== null || cancel === 0;
    abort.disabled = busy === null;
  };

  /**
   * @param {string} verb
   * @param {(name: string) => Promise<unknown>} act
   * @param {(row: Row) => boolean} fits
   */
  const all = async (verb, act, fits) => {
    const { signal } = busy = new AbortController();
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    const queue = chosen(fits);
    let [done, failed] = [0, 0];
    /** @type {Set<Promise<void>>} */
    const flying = new Set();
    rows.forEach(({ said }) => setText(said, ''));
    draw();
    abort.focus();

    /** @param {Row} row */
    const one = async ({ name, said }) => {
      said.className = 'dim';
      setText(said, '…');
      try {
        await act(name);
        done++;
        said.className = 'is-ok';
        setText(said, verb);
      } catch (error) {
        failed++;
        said.className = 'is-failed';
        setText(said, error instanceof Error ? error.message : String(error));
        if (error instanceof api.APIError && (error.status === 401 || error.status === 403)) {
          busy?.abort(); // the others would be refused as well
        }
      }
      setText(tally, `${done} ${verb}, ${failed} refused, ${queue.length - done - failed} to go`);
    };

    for (const row of queue) {
      if (signal.aborted) {
        break;
      }
      const flight = one(row).then(() => {
        flying.delete(flight);
      });
      flying.add(flight);
      const pause = new Promise((resolve) => setTimeout(resolve, stagger));
      await Promise.race([aborted, flying.size < atOnce ? pause : Promise.race(flying).then(() => pause)]);
    }
    await Promise.all(flying);
    const left = queue.length - done - failed;
    setText(tally, `${done} ${verb}, ${failed} refused${left > 0 ? `, ${left} left alone` : ''}.`);
    if (!dialog.open) {
      toast(`${done} ${verb}, ${failed} refused, ${left} left alone`, left > 0 ? 'bad' : 'good');
    }
    busy = null;
    // Not on a button that starts everything again.
    if (document.activeElement === abort) {
      tally.focus();
    }
    store.refresh();
    draw();
  };

  const dialog = open('Mitigate', 'mitigation-dialog', [
    h('p', { class: 'dim' }, `On this node, ${stagger} ms apart. Starting ignores schedules and leadership.`),
    h('ul', { class: 'results', 'data-testid': 'mitigation-results' }, ...rows.map((row) => row.item)), tally,
    h('div', { class: 'acts' }, startAll, cancelAll, abort,
      button('Copy summary', () => void copy(summary(names), 'the summary as Markdown'))),
  ]);
  const off = store.on('jobs', draw);
  dialog.addEventListener('close', () => {
    busy?.abort();
    off();
  });
  draw();
}

/**
 * The incident in Markdown.
 * @param {string[]} names
 */
function summary(names) {
  const jobs = names.flatMap((name) => store.entries.get(name)?.job ?? []);
  const cause = likelyCause(jobs);
  // What would be markup is quoted.
  const quote = (/** @type {string} */ text) => `\`${text.replace(/[\x60\r\n|]/g, ' ')}\``;
  return [
    `# ${format.count(jobs.length, 'job')} failing on ${store.node || 'this node'}, ${format.utc(store.now())}`, '',
    cause ? `${cause.jobs.length} share ${format.exit(cause.exit)} (${cause.reason}).` : 'No common cause is apparent.', '',
    '| job | exit | finished | took | reason |', '| --- | --- | --- | --- | --- |',
    ...jobs.map(({ name, last_run: last }) => `| ${quote(name)} | ${format.exit(last?.exit_code)} | ${format.utc(last?.finished_at)} | ${format.duration(last?.duration)} | ${quote(last?.fail_reason ?? '')} |`), '',
    `Job set ${format.shortID(store.config?.job_set_id)}, agent ${store.version}.`, '',
  ].join('\n');
}
