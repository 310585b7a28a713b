// The head of the page: which agent this is, which view is open, and whether what is
// shown is live.

import { token } from './api.js';
import * as actions from './actions.js';
import { button, h, isolated, setAttribute, setText } from './dom.js';
import { age, clock, coarse, count, shortID } from './format.js';
import { openHelp, openPalette, openSettings } from './overlays.js';
import { askToken } from './token-dialog.js';
import { store } from './store.js';

/** @type {[string, string, string][]} hash, label, what it needs */
const views = [['jobs', 'Jobs', ''], ['cluster', 'Cluster', 'cluster'], ['fleet', 'Fleet', 'gossip'], ['timeline', 'Timeline', '']];

/** @type {Record<string, string>} */
const lights = { starting: 'connecting', live: 'live', polling: 'live, by polling', paused: 'paused', lost: 'no signal', locked: 'token needed' };

/** @type {Record<string, string>} */
const lightKinds = { live: 'is-ok', polling: 'is-ok', paused: 'is-paused', lost: 'is-failed off', locked: 'is-warning off' };

class HeaderBar extends HTMLElement {
  #node = h('span', { class: 'node' }, isolated(''));
  #version = button('', () => void actions.copy(store.version, 'the version'), { class: 'small plain', title: 'Version of the agent', hidden: true });
  #set = button('', () => void actions.copy(store.config?.job_set_id ?? '', 'the job-set id'), { class: 'small plain', hidden: true });
  #views = views.map(([id, label]) => h('a', { href: `#${id}`, 'data-testid': `view-${id}` }, label));
  #light = h('span', { class: 'light', 'data-testid': 'link-state' });
  #clock = h('time', { class: 'clock mono dim', title: "The agent's clock" });
  #token = button('Token', () => askToken(), { hidden: true });

  connectedCallback() {
    this.append(
      h('h1', { class: 'brand' }, this.#node, h('span', { class: 'product' }, 'yacron2')),
      h('nav', { class: 'views', 'aria-label': 'Views' }, ...this.#views),
      h('div', { class: 'idents' }, this.#version, this.#set),
      h('div', { class: 'state' }, this.#light, this.#clock),
      h('div', { class: 'tools' },
        button('⌕', () => openPalette(), { 'aria-label': 'Command palette', title: 'Command palette  Ctrl-K', 'data-testid': 'palette-button' }),
        button('◷', () => { location.hash = 'sandbox'; }, { 'aria-label': 'Try a schedule', title: 'Try a schedule  s', 'data-testid': 'sandbox-button' }),
        button('↻', () => store.refresh(), { 'aria-label': 'Refresh', title: 'Refresh  g' }),
        this.#token,
        button('⚙', () => openSettings(), { 'aria-label': 'Settings', title: 'Settings', 'data-testid': 'settings-button' }),
        button('?', () => openHelp(), { 'aria-label': 'Keys', title: 'Keys  ?' })));
    for (const topic of /** @type {const} */ (['link', 'cluster', 'config', 'events'])) {
      store.on(topic, () => this.#draw());
    }
    store.on('jobs', () => this.#title());
    store.on('tick', () => this.#tick());
    this.#draw();
    this.#tick();
  }

  /** @param {string} view */
  current(view) {
    views.forEach(([id], i) => setAttribute(/** @type {Element} */ (this.#views[i]), 'aria-current', id === view ? 'page' : undefined));
  }

  #draw() {
    setText(/** @type {Element} */ (this.#node.firstElementChild), store.node || 'yacron2');
    /** @type {HTMLElement} */ (this.querySelector('.product')).hidden = store.node === '';
    this.#version.hidden = store.version === '';
    setText(this.#version, store.version);
    const id = store.config?.job_set_id ?? '';
    this.#set.hidden = id === '';
    setText(this.#set, `#${shortID(id)}`);
    this.#set.title = `Job-set id, the same on all nodes of a cluster\n${id}`;
    this.#token.hidden = token() === '' && store.link !== 'locked';
    views.forEach(([, , needs], i) => {
      const there = needs === '' || (store.cluster?.enabled === true && (needs === 'cluster' || store.cluster.backend === 'gossip'));
      /** @type {HTMLElement} */ (this.#views[i]).hidden = !there;
    });
    this.#light.className = `light ${store.stale ? 'is-failed off' : (lightKinds[store.link] ?? 'dim')}`;
    setText(this.#light, store.stale ? 'no signal' : (lights[store.link] ?? store.link));
    this.#title();
  }

  #tick() {
    const now = store.now();
    setText(this.#clock, `${clock(now)} UTC`);
    const since = store.goodAt ? `newest answer ${age(Date.now() - store.goodAt)}` : 'no answer yet';
    const skew = Math.abs(store.skew) > 2 ? `\nthis browser's clock is ${coarse(Math.abs(store.skew))} ${store.skew > 0 ? 'behind' : 'ahead'}` : '';
    this.#light.title = since + skew;
  }

  /** The title of the window tells the worst, for those who have it in the background. */
  #title() {
    const failing = store.list().filter((entry) => entry.failing).length;
    const { cluster } = store;
    const halted = cluster?.enabled && cluster.elect_leader && (cluster.conflict || !cluster.quorate);
    const worst = store.link === 'lost' ? 'no signal · ' : halted ? `${cluster.conflict ? 'conflict' : 'no quorum'} · ` : failing > 0 ? `✗ ${count(failing, 'job')} · ` : '';
    const title = `${worst}${store.node || 'yacron2'}`;
    if (document.title !== title) {
      document.title = title;
    }
  }
}

customElements.define('header-bar', HeaderBar);
export { HeaderBar };
