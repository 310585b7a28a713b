// The table of the coming firings of a schedule.

/** @import {Firing} from './types.js' */
import { h, setText } from './dom.js';
import * as format from './format.js';

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/**
 * An instant as the agent writes it in the zone of a job: the browser may not know the zone.
 * @param {string} local RFC 3339
 */
function wall(local) {
  const text = local.slice(0, 19);
  return `${days[new Date(`${text}Z`).getUTCDay()] ?? ''} ${text.replace('T', ' ')}`;
}

/**
 * @param {Firing[]} list
 * @param {string} zone
 * @param {number} now
 */
export function firingList(list, zone, now) {
  const foreign = zone !== 'UTC';
  const noted = list.some(({ note }) => note);
  const head = [foreign ? `Local (${zone})` : 'UTC', 'In', ...(foreign ? ['UTC'] : []), ...(noted ? ['Note'] : [])];
  return h('table', { class: 'list', 'data-testid': 'next-table' },
    h('thead', {}, h('tr', {}, ...head.map((label) => h('th', { scope: 'col' }, label)))),
    h('tbody', {}, ...list.map(({ at, local, note }) => h('tr', {},
      h('td', { class: 'tight', title: `${format.local(at)} for this browser` }, wall(local)),
      h('td', { class: 'tight', 'data-at': at }, format.countdown(Date.parse(at) - now)),
      foreign ? h('td', { class: 'tight' }, format.utc(at).slice(0, 19)) : null,
      noted ? h('td', { text: note ?? '' }) : null))));
}

/**
 * Brings the countdowns of a table up to date.
 * @param {Element} table
 * @param {number} now
 */
export function countDown(table, now) {
  for (const cell of table.querySelectorAll('[data-at]')) {
    setText(cell, format.countdown(Date.parse(cell.getAttribute('data-at') ?? '') - now));
  }
}
