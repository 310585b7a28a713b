// What a person must know before anything else, the worst first.

/** @import {Cluster, Problem} from './types.js' */
import * as actions from './actions.js';
import { button, find, h, isolated, replace, setText } from './dom.js';
import * as format from './format.js';
import { likelyCause } from './health.js';
import { openMitigation } from './overlays.js';
import { holdStray } from './steady.js';
import { store } from './store.js';

/**
 * @typedef {object} Alert
 * @property {string} id of the element, for tests and for bringing it up to date
 * @property {'alarm'|'bad'|'warning'} kind
 * @property {string} title
 * @property {string} text
 * @property {string} [age] of what it tells, which screen readers need not hear again and again
 * @property {[string, () => void][]} [acts]
 * @property {Problem[]} [problems]
 */

const mostProblems = 5;

/** What a conflict is about, in words. @param {Cluster} cluster */
export function conflictWords(cluster) {
  const words = [];
  if (cluster.conflict_names?.length) {
    words.push(`duplicate nodeName (${cluster.conflict_names.join(', ')})`);
  }
  if (cluster.size_conflict) {
    words.push(`cluster size mismatch (${cluster.conflicting_sizes?.join(', ')} there, ${cluster.cluster_size} here)`);
  }
  if (cluster.policy_conflict) {
    words.push(`coordination policy mismatch (${cluster.conflicting_policies?.join('; ')})`);
  }
  return words;
}

/** @type {[string, () => void][]} */
const look = [['Cluster', () => {
  location.hash = '#cluster';
}]];

/** @param {Cluster} cluster @returns {Alert[]} */
function clusterAlerts(cluster) {
  if (!cluster.enabled) {
    return cluster.error ? [{
      id: 'cluster-error-banner', kind: 'alarm', title: 'CLUSTER ALERT — this node takes no part',
      text: `${cluster.error}. Leader jobs stay idle here; PreferLeader and EveryNode jobs run.`,
    }] : [];
  }
  /** @type {Alert[]} */
  const list = [];
  if (cluster.elect_leader && cluster.conflict) {
    list.push({
      id: 'conflict-banner', kind: 'alarm', title: 'CLUSTER ALERT — conflict',
      text: `${conflictWords(cluster).join('; ')} — Leader jobs paused on this node until it is settled.`, acts: look,
    });
  } else if (cluster.elect_leader && !cluster.quorate) {
    list.push(cluster.backend === 'gossip' ? {
      id: 'quorum-banner', kind: 'alarm', title: 'CLUSTER ALERT — no quorum',
      text: `${cluster.agreeing ?? 1} of ${cluster.cluster_size} nodes agree with this one, ${cluster.quorum} are needed. Leader jobs do not run here.`, acts: look,
    } : {
      id: 'store-banner', kind: 'alarm', title: 'CLUSTER ALERT — lease store unreachable',
      text: `This node cannot read ${cluster.backend}, and fails closed: Leader jobs do not run here.`, acts: look,
    });
  }
  return list;
}

/** @returns {Alert[]} */
function connectionAlerts() {
  if (store.link === 'locked') {
    return [{ id: 'locked-banner', kind: 'warning', title: 'Token needed', text: 'The agent does not answer without a token.', acts: [['Enter token', () => document.dispatchEvent(new CustomEvent('locked'))]] }];
  }
  if (store.link === 'paused') {
    return [{ id: 'paused-banner', kind: 'warning', title: 'Paused', text: 'The page does not follow the agent: what it shows gets old.' }];
  }
  if (!store.loaded && (store.link === 'lost' || store.linkError)) {
    return [{ id: 'stale-banner', kind: 'alarm', title: 'NO SIGNAL', text: `${store.linkError || 'the agent does not answer'}. Trying again.` }];
  }
  if (store.loaded && (store.link === 'lost' || store.stale)) {
    return [{
      id: 'stale-banner', kind: 'alarm', title: 'STALE DATA',
      text: `No answer since ${format.clock(store.goodAt)} UTC${store.linkError ? ` (${store.linkError})` : ''}. What is shown below is what was known then.`,
      acts: [['Try now', () => store.refresh()]],
    }];
  }
  return [];
}

/** @returns {Alert[]} */
function agentAlerts() {
  /** @type {Alert[]} */
  const list = [];
  const { cluster, config, notReady, trouble } = store;
  if (trouble.cluster && store.link !== 'lost' && !store.stale) {
    list.push({
      id: 'cluster-stale-banner', kind: 'bad', title: 'CLUSTER NOT KNOWN',
      text: `The agent does not tell how the cluster is (${trouble.cluster}). What is shown of it is old.`,
    });
  }
  if (cluster?.stopping || notReady) {
    list.push({
      id: 'stopping-banner', kind: 'bad', title: 'AGENT STOPPING',
      text: `${cluster?.stopping ? 'This node hands over: it starts nothing new and waits for its running jobs' : notReady}.`,
    });
  }
  if (config?.state === 'failed') {
    list.push({
      id: 'reload-banner', kind: 'bad', title: 'RELOAD FAILED',
      text: `The configuration of ${format.utc(config.at)} has ${format.count(config.errors.length, 'error')}. The one loaded at ${format.utc(config.loaded_at)} stays in effect.`,
      problems: config.errors,
      acts: [['Reload', () => void actions.reload()]],
    });
  }
  return list;
}

class AlertBar extends HTMLElement {
  /** The failures that were acknowledged. */
  #seen = new Set();
  /** @type {string[]} */
  #failing = [];
  /** @type {Map<string, {element: HTMLElement, problems: string}>} */
  #shown = new Map();
  #said = '';
  #height = 0;
  #movedAt = -Infinity;

  connectedCallback() {
    for (const part of [this, find(document, 'main', HTMLElement)]) {
      part.addEventListener('click', (event) => holdStray(event, this.#movedAt), { capture: true });
    }
    for (const topic of /** @type {const} */ (['link', 'cluster', 'config', 'jobs', 'tick'])) {
      store.on(topic, () => this.#draw());
    }
  }

  /** Hides the word about failing jobs until another run fails. */
  acknowledge() {
    this.#seen = new Set(this.#failing);
    this.#draw();
  }

  /** @returns {Alert[]} */
  #jobAlerts() {
    const entries = store.list().filter((entry) => entry.failing);
    const jobs = entries.map((entry) => entry.job);
    this.#failing = jobs.map((job) => `${job.name} ${job.last_run?.run_id ?? job.last_run?.finished_at}`);
    const [first] = jobs;
    if (!first || this.#failing.every((failure) => this.#seen.has(failure))) {
      return [];
    }
    const names = jobs.map((job) => job.name);
    /** @type {(label: string, act: string) => [string, () => void]} */
    const ask = (label, act) => [label, () => this.dispatchEvent(new CustomEvent('act', { detail: { act, names } }))];
    if (jobs.length === 1) {
      const last = first.last_run;
      return [{
        id: 'failing-banner', kind: 'bad', title: `JOB FAILING — ${first.name}`,
        text: `${format.exit(last?.exit_code)}${last?.fail_reason ? ` (${last.fail_reason})` : ''}`,
        age: `, ${format.age(store.now() - Date.parse(last?.finished_at ?? ''))}`,
        acts: [ask('Logs', 'logs'), ask('Why', 'why'), ['Acknowledge', () => this.acknowledge()]],
      }];
    }
    const cause = likelyCause(jobs);
    return [{
      id: 'failing-banner', kind: 'bad', title: `FLEET EVENT — ${format.count(jobs.length, 'job')} failing`,
      text: cause
        ? `×${cause.jobs.length} share ${format.exit(cause.exit)}${cause.reason ? ` (${cause.reason})` : ''} — likely one cause${cause.within <= 60 ? `, within ${Math.ceil(cause.within)} s` : ''}`
        : 'likely independent',
      acts: [ask('Show', 'filter'), ask('Timeline', 'timeline'), ['Mitigate', () => openMitigation(names)], ask('Tail', 'tail'), ['Acknowledge', () => this.acknowledge()]],
    }];
  }

  #draw() {
    /** @type {Record<Alert['kind'], number>} */
    const weight = { alarm: 0, bad: 1, warning: 2 };
    const alerts = [
      ...connectionAlerts(),
      ...(store.cluster ? clusterAlerts(store.cluster) : []),
      ...agentAlerts(),
      ...(store.loaded ? this.#jobAlerts() : []),
    ].sort((a, b) => weight[a.kind] - weight[b.kind]);
    document.body.classList.toggle('stale', alerts.some((alert) => alert.id === 'stale-banner'));
    for (const [id, { element }] of this.#shown) {
      if (!alerts.some((alert) => alert.id === id)) {
        element.remove();
        this.#shown.delete(id);
      }
    }
    alerts.forEach((alert, i) => this.#put(alert, i));
    const said = JSON.stringify(alerts);
    if (this.#said !== said) {
      this.#said = said;
      // To ask for the height costs a layout.
      const height = this.offsetHeight;
      if (this.#height !== height) {
        this.#height = height;
        this.#movedAt = performance.now();
      }
    }
  }

  /**
   * Makes an alert, or brings it up to date without taking the focus away.
   * @param {Alert} alert
   * @param {number} i its place
   */
  #put(alert, i) {
    // What the buttons are about may have changed although they look the same.
    const key = JSON.stringify([alert.problems, (alert.acts ?? []).map(([label]) => label), alert.id === 'failing-banner' ? this.#failing : '']);
    let shown = this.#shown.get(alert.id);
    if (!shown) {
      shown = { element: h('div', {}, h('strong', {}, isolated('')), h('span', { class: 'what' }, isolated(''), h('span', { 'aria-hidden': 'true' })), h('span', { class: 'acts' }), h('ul', { class: 'problems', hidden: true })), problems: '' };
      shown.element.dataset['testid'] = alert.id;
      this.#shown.set(alert.id, shown);
    }
    const { element } = shown;
    if (this.children[i] !== element) {
      this.insertBefore(element, this.children[i] ?? null);
    }
    element.className = `alert ${alert.kind}`;
    const [title, what, acts, problems] = /** @type {HTMLElement[]} */ ([...element.children]);
    if (!title || !what || !acts || !problems) {
      return;
    }
    setText(/** @type {Element} */ (title.firstElementChild), alert.title);
    setText(/** @type {Element} */ (what.firstElementChild), alert.text);
    setText(/** @type {Element} */ (what.lastElementChild), alert.age ?? '');
    if (shown.problems !== key) {
      shown.problems = key;
      const focused = acts.contains(document.activeElement);
      replace(acts, ...(alert.acts ?? []).map(([label, act]) => button(label, act, { class: 'small' })));
      if (focused) {
        /** @type {HTMLElement|null} */ (acts.firstElementChild)?.focus();
      }
      problems.hidden = !alert.problems?.length;
      const list = alert.problems ?? [];
      replace(problems, ...list.slice(0, mostProblems).map(problemItem),
        list.length > mostProblems ? h('li', {}, `… and ${list.length - mostProblems} more`) : null);
    }
  }
}

/** @param {Problem} problem */
export function problemItem(problem) {
  const place = [problem.file, problem.line, problem.column].filter((part) => part !== undefined && part !== '').join(':');
  return h('li', {},
    place ? isolated(place, 'mono') : null, place ? ' ' : null,
    problem.job ? h('span', {}, 'job ', isolated(problem.job), ': ') : null,
    isolated(problem.message), problem.hint ? h('span', { class: 'dim' }, ' — ', isolated(problem.hint)) : null,
    problem.source ? h('pre', { tabindex: '0' }, isolated(problem.source)) : null);
}

customElements.define('alert-bar', AlertBar);
export { AlertBar };
