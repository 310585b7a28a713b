// The wallboard: all jobs as tiles over the whole screen, the worst first; and when all
// has been well for a while, that.

/** @import {Entry} from './store.js' */
import { h, isolated, replace, setText } from './dom.js';
import * as format from './format.js';
import { healths } from './health.js';
import { pref } from './prefs.js';
import { store } from './store.js';

// The width of a tile, and the room between two.
const smallest = 150;
const largest = (/** @type {number} */ width) => Math.max(340, width / 4);
const gap = 8;

/** @type {HTMLDialogElement|null} */
let shown = null;

/**
 * How tiles fill a screen.
 * @param {number} n how many there are
 * @param {number} width of the screen
 * @param {number} height
 */
function fit(n, width, height) {
  for (let across = Math.max(1, Math.ceil(width / largest(width))); ; across++) {
    const wide = width / across;
    const tall = Math.floor(wide * 0.46) - gap;
    const most = across * Math.floor((height + gap) / (tall + gap));
    if (most >= n || wide < smallest) {
      return { across, tall, most: Math.max(most, across) };
    }
  }
}

/** What matters most on a wall. @param {Entry} entry */
function weight({ failing, health, nextAt }) {
  const first = { running: 1, lost: 2, cancelled: 3, pending: 4, ok: 4, paused: 5, disabled: 6, failed: 0 };
  return [failing ? 0 : first[health], nextAt ?? Infinity];
}

/** Why what is shown is not to be relied on, '' if it is. */
function doubt() {
  if (!store.loaded) {
    return 'NO SIGNAL';
  }
  const since = `since ${format.clock(store.goodAt)} UTC`;
  if (store.link === 'paused') {
    return `PAUSED — not asked ${since}`;
  }
  if (store.stale || store.link === 'lost' || store.link === 'locked') {
    return `STALE DATA — no answer ${since}`;
  }
  return store.trouble.cluster && Date.now() - store.clusterAt > store.patience()
    ? `STALE DATA — the agent has not told of its cluster since ${format.clock(store.clusterAt)} UTC` : '';
}

/** Whether nothing wants attention. */
function well() {
  const { cluster } = store;
  const led = !cluster?.enabled ? !cluster?.error : !cluster.elect_leader || (cluster.quorate && !cluster.conflict);
  return led && !store.trouble.cluster && !store.list().some((entry) => entry.failing || entry.health === 'lost') && store.config?.state !== 'failed' && !store.notReady;
}

/** @param {() => void} closed called when it is left */
export function openWallboard(closed) {
  if (shown) {
    return;
  }
  const head = h('h2', { id: 'wall-title', tabindex: '-1', autofocus: true });
  const counts = h('span', { class: 'dim' });
  const clock = h('time', { class: 'mono' });
  const tiles = h('div', { class: 'wall-tiles' });
  const signal = h('p', { class: 'wall-signal', role: 'alert', hidden: true });
  const dialog = shown = h('dialog', { class: 'wall', 'aria-labelledby': 'wall-title', 'data-testid': 'wallboard' },
    h('div', { class: 'wall-head' }, head, counts, clock, h('button', { type: 'button', class: 'plain', onclick: () => dialog.close() }, 'Leave  Esc')), signal, tiles);
  let wellSince = 0;

  const draw = () => {
    if (!dialog.open) {
      return;
    }
    const now = store.now();
    const wrong = doubt();
    setText(head, store.node || 'yacron2');
    setText(clock, `${format.clock(now)} UTC`);
    signal.hidden = !wrong || store.link === 'starting';
    setText(signal, wrong);
    dialog.classList.toggle('old', wrong !== '');
    wellSince = well() && !wrong ? wellSince || Date.now() : 0;
    const list = store.list();
    const failing = list.filter((entry) => entry.failing).length;
    setText(counts, `${format.count(list.length, 'job')} · ${list.filter((entry) => entry.job.running).length} running · ${failing} failing`);
    if (wellSince && Date.now() - wellSince >= 1000 * pref('calm')) {
      const next = list.reduce((/** @type {Entry|null} */ a, b) => (b.nextAt !== null && b.job.enabled && (a?.nextAt ?? Infinity) > b.nextAt ? b : a), null);
      replace(tiles, h('div', { class: 'all-clear' }, h('p', { class: 'is-ok big' }, '● All clear'),
        next?.nextAt ? h('p', { class: 'dim' }, 'next: ', isolated(next.job.name), ` ${format.countdown(next.nextAt - now)}`) : null,
        h('div', { class: 'dots', 'aria-hidden': 'true' }, ...list.slice(0, 400).map((entry) => h('span', { class: entry.nextAt !== null && Math.abs(entry.nextAt - now) < 1500 ? 'dot firing' : 'dot' })))));
      return;
    }
    const ordered = [...list].sort((a, b) => {
      const [x, y] = [weight(a), weight(b)];
      return /** @type {number} */ (x[0]) - /** @type {number} */ (y[0]) || /** @type {number} */ (x[1]) - /** @type {number} */ (y[1]) || a.order - b.order;
    });
    // As large as possible; what does not fit even so is counted.
    const { across, tall, most } = fit(ordered.length, tiles.clientWidth, tiles.clientHeight);
    tiles.style.setProperty('--across', String(across));
    tiles.style.setProperty('--tall', `${tall}px`);
    const cut = ordered.length > most;
    replace(tiles, ...ordered.slice(0, cut ? most - 1 : most).map((entry) => tile(entry, now)),
      cut ? h('div', { class: 'wall-tile dim' }, `and ${format.count(ordered.length - most + 1, 'more job')}`) : null);
  };
  const off = [store.on('tick', draw), store.on('jobs', draw), store.on('link', draw), store.on('cluster', draw)];
  dialog.addEventListener('close', () => {
    shown = null;
    off.forEach((stop) => stop());
    dialog.remove();
    if (document.fullscreenElement) {
      void document.exitFullscreen();
    }
    closed();
  });
  document.body.append(dialog);
  dialog.showModal();
  void dialog.requestFullscreen?.().catch(() => { /* it fills the window, then */ });
  draw();
}

/** @param {Entry} entry @param {number} now */
function tile({ job, health, failing, nextAt }, now) {
  const kind = failing && health === 'running' ? 'failed' : health;
  const last = job.last_run;
  const words = failing && last ? `${format.exit(last.exit_code)}, ${format.age(now - Date.parse(last.finished_at))}`
    : job.running ? 'running' : nextAt === null ? healths[health].label : format.countdown(nextAt - now);
  return h('div', { class: `wall-tile is-${kind}`, 'data-job': job.name },
    h('span', { class: 'sign', 'aria-hidden': 'true' }, healths[health].glyph), isolated(job.name, 'name'), h('span', { class: 'words', text: words }));
}
