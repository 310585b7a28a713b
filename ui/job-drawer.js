// All about one job, beside the table: what it prints, its history, its schedule, and
// why it ran or did not.

/** @import {Entry} from './store.js' */
import * as actions from './actions.js';
import { button, h, isolated, setAttribute, setText } from './dom.js';
import * as format from './format.js';
import { healths } from './health.js';
import { frame } from './job-columns.js';
import { askPause, loadView } from './overlays.js';
import { describe } from './schedule-words.js';
import { store } from './store.js';

/** @typedef {'logs'|'history'|'schedule'|'why'} Tab */
/** @type {[Tab, string][]} */
const tabs = [['logs', 'Logs'], ['history', 'History'], ['schedule', 'Schedule'], ['why', 'Why']];

export class JobDrawer extends HTMLElement {
  /** The job that is shown, '' if the drawer is closed. */
  job = '';
  /** @type {Tab} */
  tab = 'logs';
  /** @type {Element|null} */
  #before = null;
  #filled = false;

  #status = h('span', { class: 'drawer-status' }, h('span', { class: 'glyph', 'aria-hidden': 'true' }), h('span'));
  #name = h('h2', { id: 'drawer-name', tabindex: '-1' }, isolated(''));
  #facts = h('div', { class: 'facts' });
  #run = button('Run', () => void actions.run(this.job), { class: 'primary', 'data-testid': 'run-button' });
  #cancel = button('Stop', () => void actions.cancel(this.job), { class: 'danger', 'data-testid': 'cancel-button' });
  #pause = button('Pause', () => this.pauseOrResume(), { 'data-testid': 'pause-button' });
  #copy = button('Copy command', () => this.copyCommand());
  #tabs = tabs.map(([id, label]) => button(label, () => this.show(this.job, id), {
    class: 'tab', role: 'tab', id: `tab-${id}`, 'aria-controls': `panel-${id}`, 'data-testid': `tab-${id}`,
  }));
  // They are loaded when they are wanted.
  #views = { logs: document.createElement('log-view'), history: document.createElement('run-history'), schedule: document.createElement('job-schedule'), why: document.createElement('job-why') };
  #panels = tabs.map(([id]) => h('div', { class: 'panel', role: 'tabpanel', tabindex: '0', id: `panel-${id}`, 'aria-labelledby': `tab-${id}`, hidden: true }, this.#views[id]));

  connectedCallback() {
    this.dataset['testid'] = 'job-drawer';
    setAttribute(this, 'role', 'dialog');
    setAttribute(this, 'aria-labelledby', 'drawer-name');
    const list = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'About the job' }, ...this.#tabs);
    list.addEventListener('keydown', (event) => this.#arrows(event));
    this.append(
      h('div', { class: 'drawer-head' },
        h('div', { class: 'drawer-title' }, this.#status, this.#name,
          button('✕', () => this.close(), { class: 'plain', 'aria-label': 'Close', 'data-testid': 'drawer-close' })),
        this.#facts,
        h('div', { class: 'acts' }, this.#run, this.#cancel, this.#pause, this.#copy)),
      list, ...this.#panels);
    this.addEventListener('keydown', (event) => this.#wrap(event));
    store.on('jobs', (changed) => {
      if (this.job && (changed === null || changed.has(this.job))) {
        this.#draw();
        if (!this.#filled) {
          this.#fill();
        } else if (this.tab !== 'logs') {
          this.#views[this.tab].setAttribute('job', this.job);
        }
      }
    });
    store.on('cluster', () => this.#draw());
    store.on('tick', () => this.#draw());
  }

  /**
   * Opens the drawer, or shows another job or tab in it.
   * @param {string} job
   * @param {Tab} tab
   */
  show(job, tab) {
    const opened = this.hidden;
    if (opened) {
      this.#before = document.activeElement;
    }
    const other = this.job !== job;
    this.job = job;
    this.tab = tab;
    this.toggleAttribute('hidden', false);
    document.body.classList.add('with-drawer');
    tabs.forEach(([id], i) => {
      const mine = id === tab;
      const b = /** @type {HTMLElement} */ (this.#tabs[i]);
      setAttribute(b, 'aria-selected', mine);
      b.tabIndex = mine ? 0 : -1;
      /** @type {HTMLElement} */ (this.#panels[i]).hidden = !mine;
    });
    this.#draw();
    this.#fill();
    if (opened) {
      this.#name.focus();
    }
    if (opened || other || location.hash !== this.#address()) {
      this.dispatchEvent(new CustomEvent('moved'));
    }
  }

  /** Asks for what the open tab shows, as soon as it is known that there is such a job. */
  #fill() {
    this.#filled = store.entries.has(this.job);
    if (!this.#filled || this.tab !== 'logs') {
      this.#views.logs.setAttribute('job', '');
    }
    if (this.#filled) {
      loadView(this.tab);
      this.#views[this.tab].setAttribute('job', this.job);
    }
  }

  close() {
    if (this.hidden) {
      return;
    }
    const inside = this.contains(document.activeElement);
    this.toggleAttribute('hidden', true);
    this.job = '';
    document.body.classList.remove('with-drawer');
    this.#views.logs.setAttribute('job', '');
    if (inside && this.#before instanceof HTMLElement) {
      this.#before.focus({ preventScroll: true });
    }
    this.dispatchEvent(new CustomEvent('moved'));
  }

  pauseOrResume() {
    const entry = store.entries.get(this.job);
    if (entry?.job.paused) {
      void actions.resume(this.job);
    } else if (entry) {
      askPause(this.job);
    }
  }

  copyCommand() {
    const entry = store.entries.get(this.job);
    if (entry) {
      void actions.copy(entry.job.command, 'the command');
    }
  }

  #address() {
    return `#job/${encodeURIComponent(this.job)}${this.tab === 'logs' ? '' : `/${this.tab}`}`;
  }

  #draw() {
    if (!this.job) {
      return;
    }
    const entry = store.entries.get(this.job);
    if (!entry) {
      if (store.loaded) {
        this.close();
      }
      return;
    }
    const { job, health } = entry;
    this.#status.className = `drawer-status is-${health}`;
    setText(/** @type {Element} */ (this.#status.firstElementChild), healths[health].glyph);
    setText(/** @type {Element} */ (this.#status.lastElementChild), healths[health].label);
    setText(/** @type {Element} */ (this.#name.firstElementChild), job.name);
    this.#run.disabled = !job.enabled;
    this.#cancel.hidden = !job.running;
    setText(this.#pause, job.paused ? 'Resume' : 'Pause');
    this.#pause.disabled = !job.enabled && !job.paused;
    this.#drawFacts(entry);
  }

  /** @param {Entry} entry */
  #drawFacts(entry) {
    const facts = factsOf(entry);
    // Most seconds change no more than one of them.
    facts.forEach(([label, value, kind], i) => {
      let fact = this.#facts.children[i];
      if (!fact) {
        fact = h('div', { class: 'fact' }, h('span', { class: 'dim' }), isolated(''));
        this.#facts.append(fact);
      }
      setText(/** @type {Element} */ (fact.firstElementChild), label);
      setText(/** @type {Element} */ (fact.lastElementChild), value);
      setAttribute(/** @type {Element} */ (fact.lastElementChild), 'class', kind);
      // A long command scrolls, by keyboard too.
      setAttribute(/** @type {Element} */ (fact.lastElementChild), 'tabindex', kind === 'mono' ? 0 : undefined);
    });
    while (this.#facts.childElementCount > facts.length) {
      this.#facts.lastElementChild?.remove();
    }
  }

  /** @param {KeyboardEvent} event */
  #arrows(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by !== undefined) {
      const at = tabs.findIndex(([id]) => id === this.tab);
      const to = (at + by + tabs.length) % tabs.length;
      this.show(this.job, /** @type {[Tab, string]} */ (tabs[to])[0]);
      this.#tabs[to]?.focus();
      event.preventDefault();
    }
  }

  /** Tab stays in the drawer; Escape leaves it. @param {KeyboardEvent} event */
  #wrap(event) {
    if (event.key !== 'Tab') {
      return;
    }
    const stops = [...this.querySelectorAll('button, input, [tabindex="0"]')].filter((el) => el instanceof HTMLElement && el.tabIndex >= 0 && el.checkVisibility() && !el.matches(':disabled'));
    const edge = event.shiftKey ? stops[0] : stops.at(-1);
    if (document.activeElement === edge || (event.shiftKey && document.activeElement === this.#name)) {
      /** @type {HTMLElement|undefined} */ (event.shiftKey ? stops.at(-1) : stops[0])?.focus();
      event.preventDefault();
    }
  }
}

/**
 * What the head of the drawer says: label, text, class.
 * @param {Entry} entry
 * @returns {[string, string, string][]}
 */
function factsOf(entry) {
  const { job, nextAt } = entry;
  const now = store.now();
  const zone = frame(entry);
  /** @type {[string, string, string][]} */
  const facts = [['Command', job.command, 'mono'], ['Schedule', `${job.schedule} — ${describe(job.schedule, zone) || zone}`, '']];
  if (job.running) {
    facts.push(['Running', job.pids.length > 0 ? `as process ${job.pids.join(', ')}` : 'starting', 'is-running']);
  } else if (nextAt !== null) {
    facts.push(['Next run', `${format.countdown(nextAt - now)}, at ${format.utc(nextAt)}`, '']);
  }
  if (job.paused) {
    const { until, by, note } = job.paused;
    facts.push(['Paused', `until ${format.utc(until)}${by ? ` by ${by}` : ''}${note ? `: ${note}` : ''}`, 'is-paused']);
  }
  const last = job.last_run;
  if (last) {
    const how = last.outcome === 'failure' ? `failed, ${format.exit(last.exit_code)}: ${last.fail_reason ?? ''}` : last.outcome;
    facts.push(['Last run', `${format.age(now - Date.parse(last.finished_at))}, ${how}, took ${format.duration(last.duration)}`, last.outcome === 'failure' ? 'is-failed' : '']);
  }
  const missing = [job.captureStdout ? '' : 'stdout', job.captureStderr ? '' : 'stderr'].filter(Boolean);
  if (missing.length > 0) {
    facts.push(['Not captured', missing.join(' and '), '']);
  }
  if (job.clusterPolicy) {
    const owner = job.clusterOwner === undefined ? '' : ` → ${job.clusterOwner ?? 'no quorum'}`;
    facts.push(['Cluster', job.clusterPolicy + owner, job.clusterOwner === null ? 'is-failed' : '']);
  }
  return facts;
}


customElements.define('job-drawer', JobDrawer);
