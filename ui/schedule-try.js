// What the sandbox for schedules makes of what is typed: questions, addresses, texts to copy
// and the list of what was tried. Everything is pure.

import { fields } from './schedule-words.js';

/** @typedef {{schedule: string, zone: string, either: boolean}} Trial a zone 'local' is that of the agent's machine */

/** The zone of the machine that the agent runs on. */
export const local = 'local';
const most = 10;

/**
 * The question to the agent.
 * @param {Trial} trial
 * @param {number} n how many firings
 */
export function query({ schedule, zone, either }, n) {
  const search = new URLSearchParams({ schedule, n: String(n) });
  if (zone === local) {
    search.set('utc', 'no');
  } else if (zone) {
    search.set('timezone', zone);
  }
  if (either) {
    search.set('dayMatch', 'or');
  }
  return search.toString();
}

/**
 * The address under which a trial can be passed on.
 * @param {Trial} trial
 */
export function address({ schedule, zone, either }) {
  const parts = ['sandbox', schedule, zone, either ? 'or' : ''].map(encodeURIComponent);
  while (parts.at(-1) === '') {
    parts.pop();
  }
  return `#${parts.join('/')}`;
}

/**
 * The trial of an address, null for one of something else.
 * @param {string} hash
 * @returns {Trial|null}
 */
export function addressed(hash) {
  const [what, schedule = '', zone = '', rule = ''] = hash.slice(1).split('/').map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part; // as it is written, then
    }
  });
  return what === 'sandbox' ? { schedule, zone, either: rule === 'or' } : null;
}

/**
 * What was tried, as it is stored: whatever else may stand there is left out.
 * @param {unknown} stored
 * @returns {Trial[]}
 */
export function tried(stored) {
  return (Array.isArray(stored) ? stored : []).flatMap((item) => {
    const [schedule, zone, rule] = Array.isArray(item) ? item : [];
    return typeof schedule === 'string' && schedule !== '' && typeof zone === 'string' ? [{ schedule, zone, either: rule === 'or' }] : [];
  }).slice(0, most);
}

/**
 * The list with a trial in front, which is in it once.
 * @param {Trial[]} list
 * @param {Trial} trial
 * @returns {string[][]} as it is stored
 */
export function keep(list, trial) {
  const same = address(trial);
  return [trial, ...list.filter((other) => address(other) !== same)].slice(0, most)
    .map(({ schedule, zone, either }) => [schedule, zone, either ? 'or' : '']);
}

/**
 * The lines of a job's configuration.
 * @param {Trial} trial
 * @param {'yaml'|'hcl'} language
 */
export function lines({ schedule, zone, either }, language) {
  const pairs = [['schedule', JSON.stringify(schedule)]];
  if (zone === local) {
    pairs.push(['utc', 'false']);
  } else if (zone && zone !== 'UTC') {
    pairs.push(['timezone', JSON.stringify(zone)]);
  }
  if (either) {
    pairs.push([language === 'yaml' ? 'dayMatch' : 'day_match', '"or"']);
  }
  return pairs.map(([key, value]) => (language === 'yaml' ? `${key}: ${value}\n` : `${key} = ${value}\n`)).join('');
}

/**
 * Whether the two day fields are restricted both, so that the rule for them matters.
 * @param {string} schedule
 */
export function bothDays(schedule) {
  const f = fields(schedule);
  return f !== null && [f.day, f.weekday].every((field) => !/^[*?]/.test(field));
}

/**
 * The part of a schedule that a problem is about, between what is before and behind it; all
 * before if it is about the whole.
 * @param {string} schedule
 * @param {{column?: number, message: string}} problem
 * @returns {[string, string, string]}
 */
export function marked(schedule, { column = 0, message }) {
  const letters = [...schedule];
  const before = letters.slice(0, Math.max(0, column - 1)).join('');
  const word = /^[^\s,]*/.exec(letters.slice(Math.max(0, column - 1)).join(''))?.[0] ?? '';
  // The message quotes what it is about.
  return column > 0 && word !== '' && message.includes(JSON.stringify(word)) ? [before, word, schedule.slice(before.length + word.length)] : [schedule, '', ''];
}
