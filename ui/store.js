// The one place that talks to the API and knows what it said. Views read from it and are
// told of changes; none of them fetches what another one shows too.

/** @import {AgentEvent, Cluster, ConfigStatus, Fleet, Job} from './types.js' */
/** @import {Health} from './health.js' */
import * as api from './api.js';
import { failing, healthOf } from './health.js';
import { onPref, pref } from './prefs.js';

/**
 * A job with what the page makes of it.
 * @typedef {object} Entry
 * @property {Job} job
 * @property {Health} health
 * @property {boolean} failing
 * @property {number|null} nextAt milliseconds of the agent's clock
 * @property {string} text what the filter looks at
 * @property {number} order in the configuration
 * @property {number} asked number of the question that this is the answer to
 */

/**
 * jobs: with the names that changed, or null for the list itself; link: how the
 * connection is; tick: a second has passed.
 * @typedef {'jobs'|'cluster'|'fleet'|'config'|'link'|'events'|'tick'} Topic
 */

/** @typedef {'starting'|'live'|'polling'|'paused'|'lost'|'locked'} Link */

// Events say which job to ask about again; so many at once are asked for as a whole.
const mostSingle = 20;
const gather = 250;
const eventsKept = 4000;
// Even while events tell of every change, all is read again now and then.
const fullEvery = 30_000;
const overdueEvery = 3000;
// A page that nobody looks at asks now and then: its title must stay true.
const hiddenEvery = 30_000;
const retryFrom = 500;
const retryTo = 10_000;

/** Answers may overtake each other: only the newest question's answer counts. */
class Latest {
  #asked = 0;
  #answered = 0;

  /**
   * @template T
   * @param {() => Promise<T>} ask
   * @param {(answer: T) => void} take
   */
  async run(ask, take) {
    const number = ++this.#asked;
    const answer = await ask();
    if (number > this.#answered) {
      this.#answered = number;
      take(answer);
    }
  }
}

class Store {
  /** @type {Map<string, Entry>} */
  entries = new Map();
  /** @type {Cluster|null} */
  cluster = null;
  /** @type {Fleet|null} */
  fleet = null;
  /** @type {ConfigStatus|null} */
  config = null;
  /** @type {AgentEvent[]} oldest first */
  events = [];
  /** Why the agent is not ready, '' if it is. */
  notReady = '';
  version = '';
  /** @type {Link} */
  link = 'starting';
  linkError = '';
  /** When the newest good answers came, in milliseconds of the browser's clock; 0: never. */
  jobsAt = 0;
  clusterAt = 0;
  goodAt = 0;
  loaded = false;
  /** Why the newest question about each was not answered, '' if it was. */
  trouble = { cluster: '', fleet: '', config: '' };
  /** Since when jobs have been running, as far as events told, in milliseconds of the agent's clock. */
  runningSince = /** @type {Map<string, number>} */ (new Map());

  /** @type {Map<Topic, Set<(changed: Set<string>|null) => void>>} */
  #listeners = new Map();
  #offset = 0;
  #offsetKnown = false;
  #streaming = false;
  /** Events before that are of the past, in milliseconds of the agent's clock. */
  #streamFrom = 0;
  #fleetWanted = 0;
  #latest = { cluster: new Latest(), fleet: new Latest(), config: new Latest() };
  /** How often jobs were asked about, each alone or all together. */
  #asked = 0;
  /** @type {Set<string>} */
  #dirty = new Set();
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #gathering;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #beating;
  #fullBusy = false;
  #fullAgain = false;
  #lastID = '';
  #overdueAt = 0;
  #seenAt = 0;
  /** @type {AbortController|null} */
  #following = null;

  /**
   * @param {Topic} topic
   * @param {(changed: Set<string>|null) => void} told
   * @returns {() => void} ends that
   */
  on(topic, told) {
    let set = this.#listeners.get(topic);
    if (!set) {
      this.#listeners.set(topic, set = new Set());
    }
    set.add(told);
    return () => set.delete(told);
  }

  /**
   * @param {Topic} topic
   * @param {Set<string>|null} [changed]
   */
  #tell(topic, changed = null) {
    for (const told of this.#listeners.get(topic) ?? []) {
      told(changed);
    }
  }

  /** The agent's clock, in milliseconds. */
  now() {
    return Date.now() + this.#offset;
  }

  /** How far the agent's clock is ahead of the browser's, in seconds. */
  get skew() {
    return Math.round(this.#offset / 1000);
  }

  /** The entries in the order of the configuration. */
  list() {
    return [...this.entries.values()];
  }

  /** The name of the node that answers, '' for one that is alone. */
  get node() {
    return this.cluster?.node_name ?? this.events.at(-1)?.node ?? '';
  }

  /** Whether what is shown is older than it should be. */
  get stale() {
    // Who comes back to the page waits for the first answer.
    return this.loaded && this.link !== 'paused' && Date.now() - Math.max(this.goodAt, this.#seenAt) > this.patience();
  }

  patience() {
    return this.#idle ? 4 * hiddenEvery : Math.max(15_000, 3000 * pref('interval'));
  }

  /** Whether nobody looks, nor wants to be told. */
  get #idle() {
    return document.hidden && !pref('notify');
  }

  start() {
    api.clockListeners.add((serverTime, from, to) => this.#setClock(serverTime, from, to));
    setInterval(() => this.#second(), 1000);
    onPref((key) => {
      if (key === 'interval') {
        this.refresh();
      }
    });
    // A hidden page holds no stream: browsers allow few connections to one host, and
    // forgotten tabs must not use them up.
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) {
        this.#seenAt = Date.now();
        this.refresh();
      } else if (!pref('notify')) {
        this.#unfollow();
      }
    });
    this.refresh();
  }

  /** Reads everything anew, and opens the stream if it is not. */
  refresh() {
    this.#setLink(this.link === 'paused' || this.link === 'locked' ? 'starting' : this.link, '');
    void this.#full();
    void this.#ask('config');
    if (!this.version) {
      void this.#quiet(async () => {
        this.version = await api.version();
        this.#tell('link');
      });
    }
    if (pref('interval') > 0) {
      void this.#follow();
    } else {
      this.#unfollow();
    }
    void this.#beat();
  }

  /**
   * Says that a view of the fleet is open, or no more.
   * @param {boolean} wanted
   */
  wantFleet(wanted) {
    this.#fleetWanted += wanted ? 1 : -1;
    if (wanted) {
      void this.#ask('fleet');
    }
  }

  /** The token has changed. */
  unlock() {
    this.#unfollow();
    this.refresh();
  }

  /**
   * Reads one job again.
   * @param {string} name
   */
  async touch(name) {
    const asked = ++this.#asked;
    try {
      const job = await api.job(name);
      const before = this.entries.get(name);
      if (before) {
        this.#put(job, before.order, asked);
        this.#tell('jobs', new Set([name]));
      }
      this.#good();
    } catch (error) {
      if (error instanceof api.APIError && error.status === 404) {
        void this.#full();
      } else {
        this.#bad(error);
      }
    }
  }

  // What goes on by itself.

  #second() {
    if (this.link === 'live' || this.link === 'polling' || this.link === 'starting') {
      if (this.stale) {
        this.#setLink('lost', this.linkError || 'no answer');
      }
    }
    if (!document.hidden) {
      this.#overdue();
      this.#tell('tick');
    }
  }

  /**
   * A firing that goes to another node is no event here: jobs whose time has come are
   * asked about, or they would look due until everything is read again.
   */
  #overdue() {
    if (this.link !== 'live' || this.notReady || Date.now() - this.#overdueAt < overdueEvery) {
      return;
    }
    const now = this.now() - overdueEvery / 2;
    const names = this.list().filter(({ job, nextAt }) => nextAt !== null && nextAt < now && !job.running).map(({ job }) => job.name);
    if (names.length > 0) {
      this.#overdueAt = Date.now();
      names.forEach((name) => this.#dirty.add(name));
      this.#flush();
    }
  }

  /** One beat: is the agent there, what is the cluster, and what no event has told. */
  async #beat() {
    clearTimeout(this.#beating);
    if (pref('interval') > 0 && this.link !== 'locked') {
      const jobsDue = !this.#streaming || Date.now() - this.jobsAt > fullEvery;
      await Promise.all([
        this.#ask('cluster'),
        this.#quiet(async () => this.#setReady(await api.notReady())),
        jobsDue ? this.#full() : undefined,
        this.#fleetWanted > 0 ? this.#ask('fleet') : undefined,
        this.#streaming ? undefined : this.#ask('config'),
      ]);
    }
    clearTimeout(this.#beating); // two may have been under way
    if (pref('interval') > 0) {
      this.#beating = setTimeout(() => void this.#beat(), this.#idle ? hiddenEvery : 1000 * pref('interval'));
    } else {
      this.#setLink('paused', '');
    }
  }

  /** @param {'cluster'|'fleet'|'config'} what */
  async #ask(what) {
    /** @type {() => Promise<any>} */
    const ask = { cluster: api.cluster, fleet: api.fleet, config: api.configStatus }[what];
    const trouble = await this.#quiet(() => this.#latest[what].run(ask, (answer) => {
      this[what] = answer;
      this.clusterAt = what === 'cluster' ? Date.now() : this.clusterAt;
      this.#tell(what);
    }));
    if (this.trouble[what] !== trouble) {
      this.trouble[what] = trouble;
      this.#tell(what);
    }
  }

  /** Follows the events until #unfollow, coming back after every end. */
  async #follow() {
    if (this.#following) {
      return;
    }
    const following = this.#following = new AbortController();
    const { signal } = following;
    let wait = retryFrom;
    while (!signal.aborted && this.link !== 'locked') {
      try {
        await api.events({
          signal,
          after: this.#lastID,
          open: () => {
            this.#streaming = true;
            this.#streamFrom = this.#lastID ? 0 : this.now() - 5000;
            wait = retryFrom;
            this.#good();
            this.#setLink('live', '');
          },
          take: (events, lastID) => this.#take(events, lastID),
        });
      } catch (error) {
        if (!signal.aborted) {
          this.#bad(error);
        }
      }
      if (signal.aborted) {
        return;
      }
      this.#streaming = false;
      if (this.link === 'live') {
        this.#setLink('polling', this.linkError);
      }
      await new Promise((resolve) => setTimeout(resolve, wait * (0.75 + Math.random() / 2)));
      wait = Math.min(wait * 2, retryTo);
    }
    if (following === this.#following) {
      this.#unfollow();
    }
  }

  #unfollow() {
    this.#following?.abort();
    this.#following = null;
    this.#streaming = false;
  }

  /**
   * @param {AgentEvent[]} events
   * @param {string} lastID
   */
  #take(events, lastID) {
    this.#lastID = lastID || this.#lastID;
    this.#good();
    let [all, cluster, config] = [false, false, false];
    for (const event of events) {
      // What is older was asked for with everything else.
      const fresh = Date.parse(event.at) > this.#streamFrom;
      switch (event.kind) {
        case 'lost':
          all = true;
          continue; // nothing that has happened
        case 'reload':
          all ||= fresh;
          config ||= fresh;
          break;
        case 'role':
        case 'member':
          cluster ||= fresh;
          all ||= fresh && this.cluster?.distribution === 'spread'; // the owners may be others
          break;
        default:
          this.#heard(event, fresh);
      }
      this.events.push(event);
    }
    if (cluster) {
      void this.#ask('cluster');
    }
    if (config) {
      void this.#ask('config');
    }
    if (this.events.length > eventsKept) {
      this.events.splice(0, this.events.length - eventsKept);
    }
    this.#tell('events');
    if (all) {
      void this.#full();
    } else if (this.#dirty.size > 0 && this.#gathering === undefined) {
      this.#gathering = setTimeout(() => this.#flush(), gather);
    }
  }

  /**
   * An event about a job.
   * @param {AgentEvent} event
   * @param {boolean} fresh
   */
  #heard(event, fresh) {
    if (event.job === undefined) {
      return;
    }
    if (fresh) {
      this.#dirty.add(event.job);
    }
    if (event.kind === 'run-started') {
      this.runningSince.set(event.job, Date.parse(event.at));
    }
  }

  #flush() {
    this.#gathering = undefined;
    const names = [...this.#dirty];
    this.#dirty.clear();
    if (names.length > mostSingle || this.#fullBusy) {
      void this.#full();
      return;
    }
    for (const name of names) {
      void this.touch(name);
    }
  }

  /** Reads all jobs, one request at a time and with pauses as long as it takes. */
  async #full() {
    if (this.#fullBusy) {
      this.#fullAgain = true;
      return;
    }
    this.#fullBusy = true;
    const began = performance.now();
    const asked = ++this.#asked;
    await this.#quiet(async () => this.#setJobs(await api.jobs(), asked));
    setTimeout(() => {
      this.#fullBusy = false;
      if (this.#fullAgain) {
        this.#fullAgain = false;
        void this.#full();
      }
    }, Math.min(4 * (performance.now() - began), 5000));
  }

  /**
   * @param {() => Promise<void>} ask
   * @returns {Promise<string>} why there was no answer, '' if there was
   */
  async #quiet(ask) {
    try {
      await ask();
      this.#good();
      return '';
    } catch (error) {
      this.#bad(error);
      return error instanceof api.APIError ? error.message : '';
    }
  }

  // What comes in.

  #good() {
    this.goodAt = Date.now();
    if (this.link === 'starting' || this.link === 'lost') {
      this.#setLink(pref('interval') === 0 ? 'paused' : this.#streaming ? 'live' : 'polling', '');
    }
  }

  /** @param {unknown} error */
  #bad(error) {
    if (!(error instanceof api.APIError)) {
      if (!(error instanceof DOMException && error.name === 'AbortError')) {
        console.error(error);
      }
      return;
    }
    this.linkError = error.message;
    if (error.status === 401) {
      this.#setLink('locked', error.message);
    } else if (error.status === 0 && this.link !== 'locked' && this.link !== 'paused') {
      this.#setLink('lost', error.message);
    } else {
      this.#tell('link');
    }
  }

  /**
   * @param {Link} link
   * @param {string} error
   */
  #setLink(link, error) {
    if (this.link !== link || this.linkError !== error) {
      this.link = link;
      this.linkError = error;
      this.#tell('link');
    }
  }

  /**
   * The Date of an answer has whole seconds, so that only a larger difference says that
   * the clocks differ.
   * @param {number} serverTime
   * @param {number} from
   * @param {number} to
   */
  #setClock(serverTime, from, to) {
    const estimate = serverTime + 500 - (from + to) / 2;
    if (!this.#offsetKnown || Math.abs(estimate - this.#offset) > 1000 + (to - from)) {
      this.#offset = Math.abs(estimate) < 1000 ? 0 : estimate;
      this.#offsetKnown = true;
    }
  }

  /**
   * @param {Job} job
   * @param {number} order
   * @param {number} asked
   */
  #put(job, order, asked) {
    const before = this.entries.get(job.name);
    if (before && before.asked > asked) {
      before.order = order; // the rest is older than what is known
      return;
    }
    let nextAt = job.scheduled_in === null ? null : this.now() + 1000 * job.scheduled_in;
    // The same instant, told twice: countdowns must not jump.
    if (nextAt !== null && before?.nextAt && Math.abs(before.nextAt - nextAt) < 1500) {
      nextAt = before.nextAt;
    }
    this.entries.set(job.name, {
      job,
      health: healthOf(job),
      failing: failing(job),
      nextAt,
      text: `${job.name}\n${job.command}`.toLowerCase(),
      order,
      asked,
    });
  }

  /** @param {Job[]} jobs @param {number} asked */
  #setJobs(jobs, asked) {
    const names = new Set(jobs.map((job) => job.name));
    let list = this.entries.size !== names.size;
    for (const name of this.entries.keys()) {
      if (!names.has(name)) {
        this.entries.delete(name);
        list = true;
      }
    }
    jobs.forEach((job, order) => {
      list ||= this.entries.get(job.name)?.order !== order;
      this.#put(job, order, asked);
    });
    this.jobsAt = Date.now();
    this.loaded = true;
    this.#tell('jobs', list ? null : names);
  }

  /** @param {string} reason */
  #setReady(reason) {
    if (this.notReady !== reason) {
      this.notReady = reason;
      this.#tell('link');
    }
  }
}

export const store = new Store();
