// Starting or cancelling all of a set of jobs, one after the other, and a summary of the
// incident to pass on.

import * as api from './api.js';
import { copy } from './actions.js';
import { open } from './dialog.js';
import { button, h, isolated, setText } from './dom.js';
import * as format from './format.js';
import { likelyCause } from './health.js';
import { store } from './store.js';

// Between two jobs, so that what they share is not hit by all at once.
const stagger = 400;

/** @param {string[]} names */
export function openMitigation(names) {
  const list = h('ul', { class: 'results', 'data-testid': 'mitigation-results' }, ...names.map((name) => h('li', {}, isolated(name, 'name'), h('span', { class: 'dim' }))));
  const tally = h('p', { role: 'status' });
  let aborted = false;
  let busy = false;

  /** @param {string} verb @param {(name: string) => Promise<unknown>} act */
  const all = async (verb, act) => {
    if (busy) {
      return;
    }
    busy = true;
    aborted = false;
    let done = 0;
    let failed = 0;
    for (const [i, name] of names.entries()) {
      if (aborted) {
        break;
      }
      const result = list.children[i]?.lastElementChild;
      try {
        await act(name);
        done++;
        result?.setAttribute('class', 'is-ok');
        result && setText(result, ` ${verb}`);
      } catch (error) {
        failed++;
        result?.setAttribute('class', 'is-failed');
        result && setText(result, ` ${error instanceof Error ? error.message : error}`);
      }
      setText(tally, `${done} ${verb}, ${failed} refused, ${names.length - done - failed} to go`);
      await new Promise((resolve) => setTimeout(resolve, stagger));
    }
    setText(tally, `${done} ${verb}, ${failed} refused${aborted ? ', the rest left alone' : ''}.`);
    busy = false;
    store.refresh();
  };

  const dialog = open('Mitigate', 'mitigation-dialog', [
    h('p', { class: 'dim' }, `${format.count(names.length, 'job')}, on this node, ${stagger} ms apart. Starting ignores schedules and leadership.`),
    list, tally,
    h('div', { class: 'acts' },
      button(`Start all ${names.length}`, () => void all('started', api.start), { class: 'primary' }),
      button('Cancel all that run', () => void all('cancelled', api.cancel), { class: 'danger' }),
      button('Abort', () => {
        aborted = true;
      }),
      button('Copy summary', () => void copy(summary(names), 'the summary as Markdown'))),
  ]);
  dialog.addEventListener('close', () => {
    aborted = true;
  });
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
