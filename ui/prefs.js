// What a person has chosen, one key each in the browser's local storage.

/**
 * @typedef {object} Prefs
 * @property {'system'|'light'|'dark'|'contrast'|'amber'} theme
 * @property {'comfortable'|'compact'} density
 * @property {number} scale percent
 * @property {number} interval seconds, 0: paused
 * @property {number} calm seconds without trouble before the wallboard says so
 * @property {boolean} reduceMotion
 * @property {boolean} notify
 * @property {string[]} columns
 * @property {boolean} dock the cluster panel below the table
 * @property {boolean} wrap
 * @property {boolean} colours
 * @property {boolean} stamps
 * @property {string[][]} tried schedules of the sandbox, the newest first
 */

/** @type {Prefs} */
const defaults = {
  theme: 'system',
  density: 'comfortable',
  scale: 100,
  interval: 3,
  calm: 30,
  reduceMotion: false,
  notify: false,
  columns: ['schedule', 'last', 'took', 'next', 'trend'],
  dock: true,
  wrap: true,
  colours: true,
  stamps: false,
  tried: [],
};

const prefix = 'yacron2.';
/** @type {Set<(key: keyof Prefs) => void>} */
const listeners = new Set();
/** @type {Partial<Prefs>} */
const known = {};

/**
 * @template {keyof Prefs} K
 * @param {K} key
 * @returns {Prefs[K]}
 */
export function pref(key) {
  const had = known[key];
  if (had !== undefined) {
    return /** @type {Prefs[K]} */ (had);
  }
  let value = defaults[key];
  try {
    const stored = JSON.parse(localStorage.getItem(prefix + key) ?? 'null');
    // What another version has left there may be of another kind.
    if (stored !== null && typeof stored === typeof value && Array.isArray(stored) === Array.isArray(value)) {
      value = stored;
    }
  } catch {
    // Unreadable, or storage is forbidden: the default it is.
  }
  known[key] = value;
  return value;
}

/**
 * @template {keyof Prefs} K
 * @param {K} key
 * @param {Prefs[K]} value
 */
export function setPref(key, value) {
  known[key] = value;
  try {
    localStorage.setItem(prefix + key, JSON.stringify(value));
  } catch {
    // Storage is full or forbidden: the choice holds for this page.
  }
  for (const told of listeners) {
    told(key);
  }
}

/** @param {(key: keyof Prefs) => void} told called with the key that changed */
export function onPref(told) {
  listeners.add(told);
}
