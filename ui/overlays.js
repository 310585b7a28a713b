// What lies over the page and is opened rarely: each is loaded when it is wanted.

import { h } from './dom.js';
import { toast } from './toasts.js';

/** @type {Promise<void>|undefined} */
let styled;

/** Loads the style sheet of all this, once. */
function style() {
  return styled ??= new Promise((resolve, reject) => {
    const failed = () => {
      styled = undefined;
      reject(new Error('the agent does not answer'));
    };
    document.head.append(h('link', { rel: 'stylesheet', href: new URL('./views.css', import.meta.url).href, onload: () => resolve(), onerror: failed }));
  });
}

/**
 * @template M
 * @param {Promise<M>} module
 * @param {(module: M) => void} use
 */
function load(module, use) {
  Promise.all([module, style()]).then(([m]) => use(m)).catch((error) => toast(`This part of the page could not be loaded: ${error instanceof Error ? error.message : error}`, 'bad'));
}

export const openPalette = () => load(import('./palette.js'), (m) => m.openPalette());
export const openHelp = () => load(import('./help-sheet.js'), (m) => m.openHelp());
export const openSettings = () => load(import('./settings-dialog.js'), (m) => m.openSettings());

/** @param {string} job */
export const askPause = (job) => load(import('./pause-dialog.js'), (m) => m.askPause(job));

/** @param {string[]} jobs */
export const openMitigation = (jobs) => load(import('./mitigation.js'), (m) => m.openMitigation(jobs));

/** @param {string[]} jobs */
export const openTail = (jobs) => load(import('./multi-tail.js'), (m) => m.openTail(jobs));

/** @param {() => void} closed */
export const openSandbox = (closed) => load(import('./cron-sandbox.js'), (m) => m.openSandbox(closed));

/** @param {() => void} closed */
export const openWallboard = (closed) => load(import('./wallboard.js'), (m) => m.openWallboard(closed));

/**
 * Loads what shows a view, or a tab of the drawer.
 * @param {string} view
 */
export function loadView(view) {
  switch (view) {
    case 'logs': load(import('./log-view.js'), nothing); break;
    case 'cluster': load(import('./cluster-story.js'), nothing); break;
    case 'fleet': load(import('./fleet-view.js'), nothing); break;
    case 'timeline': load(import('./run-timeline.js'), nothing); break;
    case 'history': load(import('./run-history.js'), nothing); break;
    case 'schedule': load(import('./job-schedule.js'), nothing); break;
    case 'why': load(import('./job-why.js'), nothing); break;
    default: // it is there
  }
}

const nothing = () => { /* it shows by itself */ };
