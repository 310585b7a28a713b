// The sandbox for schedules: what is typed is tried by the agent at once, with its firings,
// what it means and what may surprise, before it is in any file.

/** @import {Child, Props} from './dom.js' */
/** @import {Problem, SchedulePreview} from './types.js' */
/** @import {Trial} from './schedule-try.js' */
import * as actions from './actions.js';
import * as api from './api.js';
import { open } from './dialog.js';
import { button, h, isolated, replace, setAttribute } from './dom.js';
import { countDown, firingList } from './firing-list.js';
import { count } from './format.js';
import { pref, setPref } from './prefs.js';
import { rare } from './schedule-remarks.js';
import { address, addressed, bothDays, keep, lines, local, marked, query, tried } from './schedule-try.js';
import { describe } from './schedule-words.js';
import { store } from './store.js';

const shown = 12;
// How long, in milliseconds, the keys must rest before the agent is asked.
const rest = 250;
// How many of the jobs with the same schedule are named.
const named = 30;

const examples = ['*/15 * * * *', '30 6 * * mon-fri', '0 3 L * *', '0 9 * * mon#1', '@daily', '@every 90s', '*/10 * * * * * *'];

/** The one that is open: it takes another trial. @type {((trial: Trial) => void)|null} */
let current = null;

/**
 * Opens the sandbox with what the address says.
 * @param {() => void} closed called when somebody has closed it
 */
export function openSandbox(closed) {
  const trial = addressed(location.hash);
  if (!trial) {
    return; // the page has gone on while this was loaded
  }
  if (current) {
    current(trial);
    return;
  }
  new Sandbox(closed).begin(trial);
}

class Sandbox {
  #schedule = field({ placeholder: '30 2 * * mon-fri', autofocus: true, maxlength: 4096, 'aria-describedby': 'sandbox-verdict', 'data-testid': 'sandbox-schedule' });
  #zone = field({ placeholder: 'UTC', list: 'sandbox-zones', maxlength: 100, 'data-testid': 'sandbox-zone' });
  #rule = h('select', { 'data-testid': 'sandbox-rule', onchange: () => this.#changed() }, h('option', { value: 'and' }, 'both must match'), h('option', { value: 'or' }, 'either is enough'));
  #ruleLabel = h('label', { hidden: true }, 'Day of month and day of week', this.#rule);
  #verdict = h('p', { id: 'sandbox-verdict', class: 'verdict', role: 'status', 'data-testid': 'sandbox-verdict' });
  #notes = h('div', { class: 'part' });
  #firings = h('div', { class: 'part main' });
  #jobs = h('div', {});
  #tried = h('div', { class: 'chips', 'data-testid': 'sandbox-tried' });
  #copies = [
    button('Copy', () => this.#copy(this.#trial().schedule, 'the schedule'), { 'data-testid': 'sandbox-copy' }),
    button('as YAML', () => this.#copy(lines(this.#trial(), 'yaml'), 'the schedule as YAML'), {}),
    button('as HCL', () => this.#copy(lines(this.#trial(), 'hcl'), 'the schedule as HCL'), {}),
    button('as a link', () => this.#copy(location.href, 'a link to this'), {}),
  ];
  #asked = 0;
  #timer = 0;
  #left = new AbortController();
  /** The answer to what is typed. @type {SchedulePreview|null} */
  #answer = null;
  /** What is shown beside the firings. */
  #shown = '';
  /** Whether what is typed is to be kept, if it holds. */
  #wanted = false;
  /** Where to go when it is closed. */
  #leave;

  /** @param {() => void} closed */
  constructor(closed) {
    this.#leave = closed;
  }

  /** @param {Trial} trial */
  begin(trial) {
    for (const input of [this.#schedule, this.#zone]) {
      input.addEventListener('input', () => this.#changed());
      input.addEventListener('change', () => this.#remember());
    }
    const zones = ['UTC', local, ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];
    const dialog = open('Try a schedule', 'sandbox', [
      h('datalist', { id: 'sandbox-zones' }, ...zones.map((zone) => h('option', { value: zone }, zone === local ? "the agent's machine" : null))),
      h('div', { class: 'fields' }, h('label', {}, 'Schedule', this.#schedule), h('label', {}, 'Time zone', this.#zone), this.#ruleLabel),
      this.#verdict,
      h('div', { class: 'copies', role: 'group', 'aria-label': 'Copy' }, ...this.#copies),
      h('div', { class: 'result', 'data-testid': 'sandbox-result' }, this.#notes, this.#firings,
        h('div', { class: 'part' }, this.#jobs, h('section', {}, h('h3', {}), this.#tried))),
    ]);
    setAttribute(dialog, 'class', 'sandbox');
    dialog.addEventListener('keydown', (event) => this.#pressed(event));
    const off = store.on('tick', () => this.#tick());
    addEventListener('hashchange', () => {
      if (!addressed(location.hash)) {
        this.#leave = () => { /* somebody went elsewhere already */ };
        dialog.close();
      }
    }, { signal: this.#left.signal });
    dialog.addEventListener('close', () => {
      this.#remember();
      off();
      clearTimeout(this.#timer);
      this.#asked++;
      this.#left.abort();
      current = null;
      this.#leave();
    });
    // What leads to a job closes this first.
    dialog.addEventListener('click', (event) => {
      const job = /** @type {Element} */ (event.target).closest('[data-open]')?.getAttribute('data-open');
      if (job !== null && job !== undefined) {
        this.#leave = () => {
          location.hash = `#job/${encodeURIComponent(job)}/schedule`;
        };
        dialog.close();
      }
    });
    current = (other) => this.#take(other);
    this.#take(trial);
  }

  /** @returns {Trial} */
  #trial() {
    const schedule = this.#schedule.value.trim();
    return { schedule, zone: this.#zone.value.trim(), either: bothDays(schedule) && this.#rule.value === 'or' };
  }

  /** @param {Trial} trial */
  #take({ schedule, zone, either }) {
    this.#schedule.value = schedule;
    this.#zone.value = zone;
    this.#rule.value = either ? 'or' : 'and';
    this.#drawTried();
    this.#changed(0);
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.key === 'Enter' && event.target instanceof HTMLInputElement) {
      event.preventDefault();
      if (!this.#answer) {
        this.#changed(0);
      }
      this.#remember();
    }
  }

  /** Asks the agent once the keys rest. */
  #changed(wait = rest) {
    const { schedule } = this.#trial();
    this.#ruleLabel.hidden = !bothDays(schedule);
    this.#asked++;
    clearTimeout(this.#timer);
    this.#answer = null;
    this.#wanted = false;
    if (schedule === '') {
      this.#show('', 'Minute, hour, day of month, month and day of week; a year behind them, and with it seconds in front; or a macro.');
      return;
    }
    this.#timer = setTimeout(() => void this.#ask(), wait);
  }

  async #ask() {
    const asked = ++this.#asked;
    const trial = this.#trial();
    try {
      const answer = await api.preview(query(trial, shown));
      if (asked === this.#asked) {
        this.#hold(trial, answer);
      }
    } catch (error) {
      if (asked === this.#asked) {
        this.#refuse(trial, error);
      }
    }
  }

  /** @param {Trial} trial @param {SchedulePreview} answer */
  #hold(trial, answer) {
    this.#answer = answer;
    if (this.#wanted) {
      this.#remember();
    }
    history.replaceState(null, '', location.pathname + location.search + address(trial));
    const zone = answer.timezone ?? local;
    const firings = h('section', {}, h('h3', {}, 'Next firings'),
      answer.firings.length > 0 ? h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Next firings' }, firingList(answer.firings, zone, store.now()))
        : h('p', { class: 'dim' }, trial.schedule === '@reboot' ? 'It runs once, when the agent starts.' : 'None.'));
    const beside = JSON.stringify([trial, answer.timezone, answer.warnings, answer.jobs]);
    if (beside === this.#shown) {
      // Only time has passed: nobody is told again, and the focus stays where it is.
      const focused = this.#firings.contains(document.activeElement);
      replace(this.#firings, firings);
      if (focused) {
        /** @type {HTMLElement|null} */ (firings.querySelector('[tabindex]'))?.focus({ preventScroll: true });
      }
      return;
    }
    const seldom = rare(trial.schedule);
    this.#show('holds', describe(trial.schedule, zone, trial.either) || 'This holds, but is not one that the page can put into words.', [
      ...answer.warnings.map(({ message, hint }) => h('p', { class: 'remark' }, sentence(message), hint ? h('span', { class: 'dim' }, ` ${sentence(hint)}`) : null)),
      seldom ? h('p', { class: 'remark', text: seldom }) : null,
    ], [firings], [
      h('section', { 'data-testid': 'sandbox-jobs' }, h('h3', {}, 'Jobs with this schedule'), company(answer)),
    ]);
    this.#shown = beside;
  }

  /** @param {Trial} trial @param {unknown} error */
  #refuse(trial, error) {
    if (error instanceof DOMException && error.name === 'AbortError') {
      void this.#ask(); // with the token that has taken the place of the one before
      return;
    }
    const problems = error instanceof api.APIError ? error.problems : [];
    if (error instanceof api.APIError && error.status === 401) {
      document.dispatchEvent(new CustomEvent('locked'));
    }
    if (problems.length === 0) {
      this.#show('fails', error instanceof Error ? error.message : String(error));
      return;
    }
    const first = problems.find(({ key }) => key === 'schedule');
    this.#show('fails', first ? 'No job can have this schedule.' : 'No job can have this zone.', [], problems.map((problem) => reason(trial, problem)));
    setAttribute(this.#schedule, 'aria-invalid', first !== undefined);
    setAttribute(this.#zone, 'aria-invalid', problems.some(({ key }) => key === 'timezone'));
  }

  /**
   * @param {'holds'|'fails'|''} verdict
   * @param {string} words
   * @param {Child[]} [notes]
   * @param {Child[]} [firings] or in their place what is wrong
   * @param {Child[]} [jobs]
   */
  #show(verdict, words, notes = [], firings = [], jobs = []) {
    this.#shown = '';
    setAttribute(this.#verdict, 'class', `verdict ${verdict}`);
    replace(this.#verdict, verdict ? h('span', { 'aria-hidden': 'true' }, verdict === 'holds' ? '✓ ' : '✗ ') : null, words);
    this.#copies.forEach((copy) => setAttribute(copy, 'disabled', verdict !== 'holds'));
    setAttribute(this.#schedule, 'aria-invalid', null);
    setAttribute(this.#zone, 'aria-invalid', null);
    replace(this.#notes, ...notes);
    replace(this.#firings, ...firings);
    replace(this.#jobs, ...jobs);
  }

  #tick() {
    const now = store.now();
    countDown(this.#firings, now);
    const first = this.#answer?.firings[0];
    if (first && Date.parse(first.at) <= now) {
      this.#answer = null;
      void this.#ask();
    }
  }

  /** Keeps what holds, as soon as that is known. */
  #remember() {
    this.#wanted = !this.#answer;
    if (this.#answer) {
      setPref('tried', keep(tried(pref('tried')), this.#trial()));
      this.#drawTried();
    }
  }

  #drawTried() {
    const list = tried(pref('tried'));
    /** @type {HTMLElement} */ (this.#tried.previousElementSibling ?? this.#tried).textContent = list.length > 0 ? 'Tried last' : 'Examples';
    const all = list.length > 0 ? list : examples.map((schedule) => ({ schedule, zone: this.#zone.value, either: false }));
    replace(this.#tried, ...all.map((trial) => button('', () => {
      this.#take(trial);
      this.#schedule.focus();
    }, { class: 'chip-button' })));
    all.forEach(({ schedule, zone, either }, i) => this.#tried.children[i]?.append(isolated(schedule, 'mono'),
      ...[zone, either ? 'either day' : ''].filter(Boolean).map((text) => h('span', { class: 'dim' }, ' ', isolated(text)))));
  }

  /** @param {string} text @param {string} what */
  #copy(text, what) {
    this.#remember();
    void actions.copy(text, what);
  }
}

/** @param {Props} props */
const field = (props) => h('input', { type: 'text', class: 'mono', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', ...props });

/** Sentences of the agent begin small, as its log does. @param {string} text */
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/**
 * What is wrong, with its place in what was typed.
 * @param {Trial} trial
 * @param {Problem} problem
 */
function reason(trial, problem) {
  const [before, part, behind] = marked(trial.schedule, problem.key === 'schedule' ? problem : { message: '' });
  return h('div', { class: 'reason' },
    part ? h('p', { class: 'mono', dir: 'ltr' }, before, h('mark', {}, part), behind) : null,
    h('p', {}, sentence(problem.message.replace(/^the schedule .* cannot be read: /, ''))),
    problem.hint ? h('p', { class: 'dim' }, sentence(problem.hint)) : null);
}

/** @param {SchedulePreview} answer */
function company({ jobs, jobs_total: total }) {
  if (total === 0) {
    return h('p', { class: 'dim' }, 'No job of this agent fires at just these instants.');
  }
  const some = jobs.slice(0, named);
  return h('div', { class: 'chips' }, ...some.map((name) => h('button', { type: 'button', class: 'chip-button', 'data-open': name }, isolated(name),
    store.entries.get(name)?.job.enabled === false ? h('span', { class: 'dim' }, ' off') : null)),
  total > some.length ? h('span', { class: 'dim' }, `and ${count(total - some.length, 'more job')}`) : null);
}
