// What may be wrong with a schedule, or surprise.

import { any, fields, monthName, number } from './schedule-words.js';

/** @type {Record<number, number>} */
const longest = { 2: 29, 4: 30, 6: 30, 9: 30, 11: 30 };

/**
 * Which months or years a schedule leaves out, '' if none.
 * @param {string} schedule
 */
export function rare(schedule) {
  const f = fields(schedule);
  const [day, month] = [number(f?.day ?? ''), number(f?.month ?? '')];
  if (day === 29 && month === 2) {
    return 'This fires in leap years only.';
  }
  return day !== null && day > 28 && day < 32 && any(f?.month ?? '') ? `Months without a day ${day} are left out.` : '';
}

/**
 * What a person may want to know of a schedule before it surprises.
 * @param {string} schedule
 * @param {string} zone
 * @returns {string[]}
 */
export function remarks(schedule, zone) {
  const f = fields(schedule);
  if (!f) {
    return [];
  }
  const list = [];
  const [day, month, seldom] = [number(f.day), number(f.month), rare(schedule)];
  if (day !== null && month !== null && day > (longest[month] ?? 31)) {
    list.push(`There is no ${monthName(f.month)} ${day}: this never fires.`);
  } else if (seldom) {
    list.push(seldom);
  }
  if (!any(f.day) && !any(f.weekday)) {
    list.push('Day of the month and day of the week are both restricted: whether either or both must match is up to dayMatch.');
  }
  const hour = number(f.hour);
  if (zone !== 'UTC' && hour !== null && hour <= 3) {
    list.push('Where clocks change at night, an hour that is left out moves the firing to right after it, and one that is repeated fires once.');
  }
  if (number(f.minute) === 0 && number(f.second) === 0 && (hour === 0 || any(f.hour))) {
    list.push('Many jobs start at the full hour: another minute may be calmer.');
  }
  return list;
}
