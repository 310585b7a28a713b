// The keys.

import { open } from './dialog.js';
import { h } from './dom.js';

/** @type {[string, [string, string][]][]} */
const groups = [
  ['Everywhere', [['Ctrl-K  Ctrl-P', 'command palette'], ['/', 'filter'], ['g', 'refresh'], ['i', 'timeline of runs'], ['w', 'wallboard'], ['s', 'try a schedule'], ['t', 'next theme'], ['a', 'acknowledge failing jobs'], ['?', 'this sheet'], ['Esc', 'close what is open']]],
  ['Views', [['1', 'jobs'], ['2', 'cluster'], ['3', 'fleet'], ['4', 'timeline']]],
  ['The chosen job', [['j  ↓   k  ↑', 'next, previous'], ['Enter', 'open'], ['r', 'run now, on this node'], ['x', 'stop'], ['p', 'pause or resume'], ['c', 'copy its command']]],
  ['In the output', [['Enter  Shift-Enter', 'next, previous match'], ['End', 'follow']]],
];

export function openHelp() {
  if (document.querySelector('[data-testid="help-sheet"]')) {
    return;
  }
  open('Keys', 'help-sheet', [h('div', { class: 'key-groups' }, ...groups.map(([title, keys]) => h('section', {},
    h('h3', {}, title),
    h('dl', { class: 'keys' }, ...keys.flatMap(([key, what]) => [
      h('dt', {}, ...key.split(/\s+/).flatMap((k, i) => [i > 0 ? ' ' : null, h('kbd', {}, k)])), h('dd', {}, what),
    ])))))]);
}
