// The command palette: type what you want.

import * as actions from './actions.js';
import { h, isolated, replace, setAttribute } from './dom.js';
import { healths } from './health.js';
import { askPause, openHelp, openMitigation, openSettings, openTail } from './overlays.js';
import { pref, setPref } from './prefs.js';
import { themes } from './theme.js';
import { store } from './store.js';

/** @typedef {{label: string, hint: string, job?: string, act: () => void}} Command */

const most = 30;

/**
 * How well a text fits what was typed: higher is better, -1 is not at all. The letters
 * must come in order; starts of words and neighbours count more.
 * @param {string} typed lower case
 * @param {string} text
 */
export function fit(typed, text) {
  const lower = text.toLowerCase();
  let score = 0;
  let at = -1;
  for (const letter of typed) {
    if (letter === ' ') {
      continue;
    }
    const found = lower.indexOf(letter, at + 1);
    if (found < 0) {
      return -1;
    }
    score += found === at + 1 ? 5 : 1;
    score += found === 0 || /[\s\-_./:]/.test(lower[found - 1] ?? '') ? 4 : 0;
    score -= Math.min(found - at, 10) / 20;
    at = found;
  }
  return Math.max(0, score + (lower.includes(typed) ? 20 : 0) - lower.length / 100);
}

/**
 * To look at a job comes before doing something to it, unless that was typed.
 * @param {string} typed
 * @param {Command} command
 */
function rank(typed, { label, job }) {
  const whole = fit(typed, `${label} ${job ?? ''}`);
  const name = job === undefined || label !== 'Open' ? -1 : fit(typed, job);
  return Math.max(whole, name < 0 ? -1 : name + 30);
}

/** @param {(entry: import('./store.js').Entry) => boolean} fits */
const named = (fits) => store.list().filter(fits).map((entry) => entry.job.name);

/** @returns {Command[]} */
function commands() {
  const go = (/** @type {string} */ hash) => {
    location.hash = hash;
  };
  return [
    { label: 'Refresh', hint: 'g', act: () => store.refresh() },
    { label: 'Reload the configuration of the agent', hint: '', act: () => void actions.reload() },
    { label: pref('density') === 'compact' ? 'Comfortable rows' : 'Compact rows', hint: '', act: () => setPref('density', pref('density') === 'compact' ? 'comfortable' : 'compact') },
    ...themes.map(([theme, label]) => ({ label: `Theme: ${label}`, hint: 't', act: () => setPref('theme', theme) })),
    ...[['jobs', '1', 'jobs'], ['cluster', '2', 'cluster'], ['fleet', '3', 'fleet'], ['timeline/runs', '4', 'timeline'], ['timeline/outcomes', '', 'outcomes of days (heat map)'], ['timeline/next', '', 'next firings (radar)'], ['tv', 'w', 'wallboard']].map(([view = '', hint = '', name = '']) => ({ label: `Go to ${name}`, hint, act: () => go(`#${view}`) })),
    { label: 'Try a schedule', hint: 's', act: () => go('#sandbox') },
    { label: 'Settings', hint: '', act: openSettings },
    { label: 'Keys', hint: '?', act: openHelp },
    ...[{ what: 'fail', names: named((entry) => entry.failing) }, { what: 'run', names: named((entry) => entry.job.running) }].filter(({ names }) => names.length > 0).flatMap(({ what, names }) => [
      { label: `Tail the jobs that ${what}`, hint: `${names.length}`, act: () => openTail(names) },
      { label: `Start or cancel the jobs that ${what} …`, hint: `${names.length}`, act: () => openMitigation(names) },
    ]),
  ];
}

/** @returns {Command[]} */
function jobCommands() {
  return store.list().flatMap(({ job, health }) => {
    const { name } = job;
    const go = (/** @type {string} */ tab) => () => {
      location.hash = `#job/${encodeURIComponent(name)}${tab}`;
    };
    /** @type {Command[]} */
    const list = [{ label: 'Open', hint: healths[health].label, job: name, act: go('') }];
    if (job.enabled) {
      list.push({ label: 'Run', hint: '', job: name, act: () => void actions.run(name) });
    }
    if (job.running) {
      list.push({ label: 'Stop', hint: '', job: name, act: () => void actions.cancel(name) });
    }
    if (job.paused) {
      list.push({ label: 'Resume', hint: '', job: name, act: () => void actions.resume(name) });
    } else if (job.enabled) {
      list.push({ label: 'Pause', hint: '', job: name, act: () => askPause(name) });
    }
    list.push(
      { label: 'History of', hint: '', job: name, act: go('/history') },
      { label: 'Schedule of', hint: '', job: name, act: go('/schedule') },
      { label: 'Why', hint: '', job: name, act: go('/why') },
      { label: 'Copy the command of', hint: '', job: name, act: () => void actions.copy(job.command, 'the command') });
    return list;
  });
}

export function openPalette() {
  if (document.querySelector('[data-testid="palette"]')) {
    return;
  }
  const all = [...commands(), ...jobCommands()];
  const input = h('input', {
    type: 'text', placeholder: 'Type a command or a job', 'aria-label': 'Command', autocomplete: 'off', spellcheck: 'false', autofocus: true,
    role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'palette-list', 'data-testid': 'palette-input',
  });
  const list = h('ul', { id: 'palette-list', role: 'listbox', 'aria-label': 'Commands' });
  const dialog = h('dialog', { class: 'palette', 'aria-label': 'Command palette', 'data-testid': 'palette' }, input, list);
  /** @type {Command[]} */
  let found = [];
  let at = 0;

  const mark = () => {
    [...list.children].forEach((item, i) => setAttribute(item, 'aria-selected', i === at));
    setAttribute(input, 'aria-activedescendant', found.length > 0 ? `command-${at}` : undefined);
    list.children[at]?.scrollIntoView({ block: 'nearest' });
  };
  const search = () => {
    const typed = input.value.trim().toLowerCase();
    found = typed === '' ? all.slice(0, most) : all
      .map((command) => ({ command, score: rank(typed, command) }))
      .filter(({ score }) => score >= 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, most)
      .map(({ command }) => command);
    at = 0;
    replace(list, ...found.map((command, i) => h('li', { role: 'option', id: `command-${i}`, 'aria-selected': i === 0, 'data-i': i },
      h('span', {}, command.label, command.job === undefined ? null : ' ', command.job === undefined ? null : isolated(command.job, 'name')),
      h('span', { class: 'dim', text: command.hint }))),
    found.length === 0 ? h('li', { class: 'dim', role: 'option', 'aria-disabled': 'true', 'aria-selected': 'false' }, 'Nothing fits.') : null);
    mark();
  };
  const choose = () => {
    dialog.close();
    found[at]?.act();
  };
  input.addEventListener('input', search);
  dialog.addEventListener('keydown', (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined && found.length > 0) {
      at = (at + by + found.length) % found.length;
      mark();
      event.preventDefault();
    } else if (event.key === 'Enter') {
      choose();
      event.preventDefault();
    }
  });
  list.addEventListener('click', (event) => {
    const item = /** @type {Element} */ (event.target).closest('[data-i]');
    if (item) {
      at = Number(item.getAttribute('data-i'));
      choose();
    }
  });
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) {
      dialog.close();
    }
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  search();
  dialog.showModal();
}
