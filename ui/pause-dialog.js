// Asks for how long a job shall not fire, and why.

import { pause } from './actions.js';
import { h } from './dom.js';
import { open } from './dialog.js';

/** @type {[number, string][]} */
const lengths = [[900, '15 minutes'], [3600, '1 hour'], [4 * 3600, '4 hours'], [12 * 3600, '12 hours'], [24 * 3600, '1 day'], [7 * 24 * 3600, '7 days'], [30 * 24 * 3600, '30 days']];

/** @param {string} job */
export function askPause(job) {
  const seconds = h('select', { name: 'seconds', 'data-testid': 'pause-length' },
    ...lengths.map(([n, label]) => h('option', { value: n, selected: n === 3600 }, label)));
  const note = h('input', { name: 'note', maxlength: 500, placeholder: 'the disk is full', autocomplete: 'off', 'data-testid': 'pause-note' });
  open('Pause the job', 'pause-dialog', [
    h('p', {}, h('bdi', { class: 'name', text: job }), ' will not fire on this node for a time. What is skipped is not made up for; it can still be run by hand.'),
    h('label', {}, 'For', seconds),
    h('label', {}, 'Why (others will see it)', note),
  ], 'Pause', () => {
    void pause(job, Number(seconds.value), note.value.trim());
    return true;
  });
}
