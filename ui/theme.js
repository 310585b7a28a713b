// How the page looks, as chosen.

import { onPref, pref } from './prefs.js';

/** @import {Prefs} from './prefs.js' */

/** @type {[Prefs['theme'], string][]} */
export const themes = [['system', 'As the system says'], ['light', 'Light'], ['dark', 'Dark'], ['contrast', 'High contrast'], ['amber', 'Amber']];

const contrast = matchMedia('(prefers-contrast: more)');

function apply() {
  const root = document.documentElement;
  root.dataset['theme'] = pref('theme') === 'system' && contrast.matches ? 'contrast' : pref('theme');
  root.dataset['density'] = pref('density');
  root.dataset['motion'] = pref('reduceMotion') ? 'less' : '';
  root.style.setProperty('--scale', String(pref('scale') / 100));
}

/** Puts the choices into effect, now and whenever they change. */
export function startTheme() {
  apply();
  onPref(apply);
  contrast.addEventListener('change', apply);
}
