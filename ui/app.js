// Starts the page: views, addresses and keys.

import './cluster-panel.js';
import { AlertBar } from './alert-bar.js';
import * as actions from './actions.js';
import { find } from './dom.js';
import { HeaderBar } from './header-bar.js';
import { JobDrawer } from './job-drawer.js';
import { JobView } from './job-view.js';
import { startKeys } from './keys.js';
import { startNotices } from './notices.js';
import { loadView, openHelp, openSandbox, openTail, openWallboard } from './overlays.js';
import { onPref, pref, setPref } from './prefs.js';
import { store } from './store.js';
import { startTheme, themes } from './theme.js';
import { toast } from './toasts.js';
import { startTokens } from './token-dialog.js';

/** @typedef {import('./job-drawer.js').JobDrawer['tab']} Tab */

const views = ['jobs', 'cluster', 'fleet', 'timeline'];
let view = 'jobs';
// Where the page was before something was laid over it.
let below = '';

startTheme();

const header = find(document, 'header-bar', HeaderBar);
const alerts = find(document, 'alert-bar', AlertBar);
const jobs = find(document, 'job-view', JobView);
const drawer = find(document, 'job-drawer', JobDrawer);
const { table } = jobs;

/** @param {string} hash */
function go(hash) {
  if (location.hash !== hash) {
    history.pushState(null, '', location.pathname + location.search + hash);
  }
  route();
}

/** Shows what the address says. */
function route() {
  const [what = '', name = '', tab = ''] = location.hash.slice(1).split('/');
  const over = what === 'tv' ? openWallboard : what === 'sandbox' ? openSandbox : null;
  if (over) {
    over(() => go(below || `#${view}`));
    show();
    return;
  }
  below = location.hash;
  if (what === 'job' && name) {
    let job = name;
    try {
      job = decodeURIComponent(name);
    } catch {
      // As it is written, then.
    }
    const found = /** @type {Tab} */ (['logs', 'history', 'schedule', 'why'].includes(tab) ? tab : 'logs');
    if (drawer.job !== job || drawer.tab !== found) {
      table.choose(job);
      drawer.show(job, found);
    }
  } else {
    view = views.includes(what) ? what : 'jobs';
    drawer.close();
  }
  show();
}

function show() {
  loadView(view);
  header.current(view);
  document.body.dataset['view'] = view;
  jobs.hidden = view !== 'jobs';
  find(document, 'cluster-panel', HTMLElement).hidden = !(view === 'cluster' || (view === 'jobs' && pref('dock')));
  find(document, 'fleet-view', HTMLElement).hidden = view !== 'fleet';
  find(document, 'run-timeline', HTMLElement).hidden = view !== 'timeline';
  table.measure();
}

drawer.addEventListener('moved', () => {
  const hash = drawer.job ? `#job/${encodeURIComponent(drawer.job)}${drawer.tab === 'logs' ? '' : `/${drawer.tab}`}` : `#${view}`;
  if (location.hash !== hash) {
    history.pushState(null, '', location.pathname + location.search + hash);
  }
  table.choose(drawer.job || table.chosen);
});

/** @param {Event} event */
function act(event) {
  const { name, act: what } = /** @type {CustomEvent<{name: string, act: string}>} */ (event).detail;
  switch (what) {
    case 'run': void actions.run(name); break;
    case 'cancel': void actions.cancel(name); break;
    case 'logs': drawer.show(name, 'logs'); break;
    default: drawer.show(name, drawer.hidden ? 'logs' : drawer.tab);
  }
}
table.addEventListener('act', act);

alerts.addEventListener('act', (event) => {
  const { act: what, names } = /** @type {CustomEvent<{act: string, names: string[]}>} */ (event).detail;
  switch (what) {
    case 'logs': drawer.show(names[0] ?? '', 'logs'); break;
    case 'why': drawer.show(names[0] ?? '', 'why'); break;
    case 'timeline': go('#timeline'); break;
    case 'tail': openTail(names); break;
    default:
      go('#jobs');
      jobs.set({ show: 'failed', text: '' });
  }
});

/** The job that keys are about: the one in the drawer, or the chosen one. */
const subject = () => drawer.job || (view === 'jobs' ? table.chosen : '');

/** @param {(name: string) => void} what */
const onSubject = (what) => () => {
  const name = subject();
  if (store.entries.has(name)) {
    what(name);
  }
};

/** @param {number} by */
const move = (by) => () => {
  table.move(by);
  if (!drawer.hidden && table.chosen) {
    drawer.show(table.chosen, drawer.tab);
  }
};

startKeys({
  '/': () => {
    go('#jobs');
    jobs.focusFilter();
  },
  j: move(1),
  ArrowDown: move(1),
  k: move(-1),
  ArrowUp: move(-1),
  PageDown: () => table.move(table.page),
  PageUp: () => table.move(-table.page),
  Home: () => table.move(-Infinity),
  End: () => table.move(Infinity),
  Enter: onSubject((name) => drawer.show(name, 'logs')),
  r: onSubject((name) => void actions.run(name)),
  x: onSubject((name) => void actions.cancel(name)),
  p: onSubject((name) => {
    if (drawer.hidden) {
      drawer.show(name, 'logs');
    }
    drawer.pauseOrResume();
  }),
  c: onSubject((name) => void actions.copy(store.entries.get(name)?.job.command ?? '', 'the command')),
  g: () => store.refresh(),
  t: () => {
    const at = themes.findIndex(([theme]) => theme === pref('theme'));
    const next = themes[(at + 1) % themes.length];
    if (next) {
      setPref('theme', next[0]);
    }
  },
  a: () => alerts.acknowledge(),
  i: () => go('#timeline'),
  s: () => go('#sandbox'),
  w: () => go('#tv'),
  '?': openHelp,
  1: () => go('#jobs'),
  2: () => go('#cluster'),
  3: () => go('#fleet'),
  4: () => go('#timeline'),
  Escape: () => drawer.close(),
});

document.addEventListener('open-job', (event) => {
  const { detail: name } = /** @type {CustomEvent<string>} */ (event);
  if (store.entries.has(name)) {
    drawer.show(name, 'logs');
  } else {
    toast(`${name} is not configured on this node`);
  }
});
addEventListener('hashchange', route);
addEventListener('popstate', route);
onPref((key) => {
  if (key === 'dock') {
    show();
  }
});
startTokens();
startNotices();
store.start();
// An address of a job waits for the jobs: the drawer closes for one that is not there.
route();
