// How the page looks, as chosen.

import { onPref, pref } from './prefs.js';

function apply() {
  const root = document.documentElement;
  root.dataset['theme'] = pref('theme');
  root.dataset['density'] = pref('density');
  root.dataset['motion'] = pref('reduceMotion') ? 'less' : '';
  root.style.setProperty('--scale', String(pref('scale') / 100));
}

/** Puts the choices into effect, now and whenever they change. */
export function startTheme() {
  apply();
  onPref(apply);
}
