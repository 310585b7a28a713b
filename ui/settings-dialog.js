// Choices of how the page looks and how often it asks.

/** @import {Prefs} from './prefs.js' */
import { open } from './dialog.js';
import { h } from './dom.js';
import { pref, setPref } from './prefs.js';
import { themes } from './theme.js';
import { toast } from './toasts.js';

/**
 * @template {keyof Prefs} K
 * @param {string} label
 * @param {K} key
 * @param {[Prefs[K], string][]} options
 * @param {string} testid
 */
function choice(label, key, options, testid) {
  const select = h('select', {
    'data-testid': testid,
    onchange: () => setPref(key, /** @type {[Prefs[K], string]} */ (options[select.selectedIndex])[0]),
  }, ...options.map(([value, text]) => h('option', { value: String(value), selected: value === pref(key) }, text)));
  return h('label', {}, label, select);
}

/**
 * @param {string} label
 * @param {'reduceMotion'|'notify'|'dock'} key
 * @param {(on: boolean) => void} [changed]
 */
function check(label, key, changed) {
  const box = h('input', { type: 'checkbox', checked: pref(key), onchange: () => {
    setPref(key, box.checked);
    changed?.(box.checked);
  }, 'data-testid': `${key}-check` });
  return h('label', { class: 'check' }, box, label);
}

export function openSettings() {
  open('Settings', 'settings-dialog', [
    choice('Theme', 'theme', themes, 'theme-select'),
    choice('Rows', 'density', [['comfortable', 'Comfortable'], ['compact', 'Compact']], 'density-select'),
    choice('Size', 'scale', [[100, '100 %'], [110, '110 %'], [120, '120 %'], [140, '140 %']], 'scale-select'),
    choice('Ask the agent', 'interval', [[1, 'every second'], [2, 'every 2 s'], [3, 'every 3 s'], [5, 'every 5 s'], [10, 'every 10 s'], [0, 'not at all (paused)']], 'interval-select'),
    choice('All clear on the wallboard', 'calm', [[5, 'after 5 s'], [15, 'after 15 s'], [30, 'after 30 s'], [60, 'after a minute'], [120, 'after 2 minutes']], 'calm-select'),
    check('Cluster below the jobs', 'dock'),
    check('Less motion', 'reduceMotion'),
    check('Desktop notification when a job fails', 'notify', (on) => {
      if (on) {
        // Browsers offer none to a page over plain HTTP, but for one of the same machine.
        void ('Notification' in window ? Notification.requestPermission() : Promise.resolve('denied')).then((answer) => {
          if (answer !== 'granted') {
            toast('The browser does not allow notifications for this page', 'bad');
          }
        });
      }
    }),
  ]);
}
