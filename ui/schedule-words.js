// A schedule in words. The agent alone decides when a job fires; what is said here is for
// people and leaves out what it does not understand.

const monthNames = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** @type {Record<string, string>} */
const macros = {
  '@yearly': '0 0 1 1 *', '@annually': '0 0 1 1 *', '@monthly': '0 0 1 * *', '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *', '@midnight': '0 0 * * *', '@hourly': '0 * * * *',
};

/**
 * @typedef {object} Fields
 * @property {string} second
 * @property {string} minute
 * @property {string} hour
 * @property {string} day
 * @property {string} month
 * @property {string} weekday
 * @property {string} year
 */

/**
 * Splits a schedule of 5 fields, 6 (year last) or 7 (second first, year last).
 * @param {string} schedule
 * @returns {Fields|null} null for what is no list of fields
 */
export function fields(schedule) {
  const list = (macros[schedule.trim().toLowerCase()] ?? schedule).trim().split(/\s+/);
  if (list.length < 5 || list.length > 7) {
    return null;
  }
  const second = list.length === 7 ? list.shift() : '0';
  const [minute = '*', hour = '*', day = '*', month = '*', weekday = '*', year = '*'] = list;
  return { second: second ?? '0', minute, hour, day, month, weekday, year };
}

/** @param {string} field */
export const any = (field) => field === '*' || field === '?';
/** @param {string} field */
export const number = (field) => (/^\d+$/.test(field) ? Number(field) : null);
/** @param {number} n */
const two = (n) => String(n).padStart(2, '0');

/**
 * A field in words: names for numbers, "every 5", ranges and lists.
 * @param {string} field
 * @param {(value: string) => string} name of one value
 * @param {string} unit
 */
function words(field, name, unit) {
  return field.split(',').map((item) => {
    const step = /^(\*|[^/]+)\/(\d+)$/.exec(item);
    if (step) {
      const every = `every ${ordinal(Number(step[2]))} ${unit}`;
      return step[1] === '*' ? every : `${every} from ${range(step[1] ?? '', name)}`;
    }
    return range(item, name);
  }).join(', ').replace(/, ([^,]*)$/, ' and $1');
}

/**
 * @param {string} item
 * @param {(value: string) => string} name
 */
function range(item, name) {
  const bounds = /^(\w+)-(\w+)$/.exec(item);
  return bounds ? `${name(bounds[1] ?? '')} to ${name(bounds[2] ?? '')}` : name(item);
}

/** @param {number} n */
function ordinal(n) {
  if (n === 2) {
    return 'second';
  }
  const tail = n % 100 > 10 && n % 100 < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th');
  return `${n}${tail}`;
}

/** @param {string} value */
export function monthName(value) {
  const n = number(value);
  const found = n === null ? monthNames.find((month) => month.slice(0, 3).toLowerCase() === value.toLowerCase()) : monthNames[n - 1];
  return found ?? value;
}

/** @param {string} value @returns {string} */
function dayName(value) {
  const nth = /^(\w+)#(\d)$/.exec(value);
  if (nth) {
    return `the ${ordinal(Number(nth[2])).replace('second', '2nd')} ${dayName(nth[1] ?? '')} of the month`;
  }
  const last = /^(\w+)L$/i.exec(value);
  if (last && last[1]) {
    return `the last ${dayName(last[1])} of the month`;
  }
  const n = number(value);
  const found = n === null ? dayNames.find((day) => day.slice(0, 3).toLowerCase() === value.toLowerCase()) : dayNames[n % 7];
  return found ?? value;
}

/** @param {string} value */
function dateName(value) {
  if (value.toUpperCase() === 'L') {
    return 'the last day';
  }
  if (value.toUpperCase() === 'LW') {
    return 'the last working day';
  }
  const back = /^L-(\d+)$/i.exec(value);
  if (back) {
    return `${back[1]} days before the last`;
  }
  const near = /^(\d+)W$/i.exec(value);
  return near ? `the working day nearest to the ${ordinal(Number(near[1]))}` : value;
}

/**
 * The time of the day in words.
 * @param {Fields} f
 */
function timeWords(f) {
  const [second, minute, hour] = [number(f.second), number(f.minute), number(f.hour)];
  if (second !== null && minute !== null) {
    const tail = second === 0 ? '' : `:${two(second)}`;
    if (hour !== null) {
      return `at ${two(hour)}:${two(minute)}${tail}`;
    }
    if (any(f.hour)) {
      return minute === 0 && second === 0 ? 'every hour' : `every hour at ${two(minute)}${tail || ' past'}`;
    }
    if (/^\d+(,\d+)+$/.test(f.hour)) {
      return `at ${f.hour.split(',').map((value) => `${two(Number(value))}:${two(minute)}${tail}`).join(', ')}`;
    }
    return `at minute ${minute}${second ? `, second ${second},` : ''} of ${words(f.hour, (v) => `${v}h`, 'hour')}`;
  }
  const parts = [];
  if (second === null) {
    parts.push(any(f.second) ? 'every second' : words(f.second, (v) => `second ${v}`, 'second'));
    if (!any(f.minute)) {
      parts.push(`of ${words(f.minute, (v) => `minute ${v}`, 'minute')}`);
    }
  } else {
    parts.push(any(f.minute) ? 'every minute' : words(f.minute, (v) => `minute ${v}`, 'minute'));
    if (second > 0) {
      parts.push(`at second ${second}`);
    }
  }
  if (!any(f.hour)) {
    parts.push(hour === null ? `of ${words(f.hour, (v) => `${v}h`, 'hour')}` : `from ${two(hour)}:00 to ${two(hour)}:59`);
  }
  return parts.join(' ');
}

/**
 * A schedule in words, '' for one that is not understood.
 * @param {string} schedule
 * @param {string} zone
 * @param {boolean} [either] one of the two day fields is enough
 */
export function describe(schedule, zone, either) {
  const text = schedule.trim();
  if (text === '@reboot') {
    return 'Once, when the agent starts.';
  }
  const every = /^@every\s+(\S+)$/.exec(text);
  if (every) {
    return `Every ${every[1]}, counted from 1970 so that all nodes agree.`;
  }
  const f = fields(text);
  if (!f) {
    return '';
  }
  const parts = [timeWords(f)];
  const dated = !any(f.day);
  if (!any(f.weekday)) {
    parts.push(`on ${words(f.weekday, dayName, 'day of the week')}`);
  }
  if (dated) {
    parts.push(`${any(f.weekday) ? 'on' : either ? 'or on' : 'restricted to'} day ${words(f.day, dateName, 'day')} of the month`.replace('day the', 'the').replace('day every', 'every'));
  }
  if (!any(f.month)) {
    parts.push(`in ${words(f.month, monthName, 'month')}`);
  }
  if (!any(f.year)) {
    parts.push(`in the year ${f.year}`);
  }
  const sentence = parts.join(' ').replace('of the month in', 'of');
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}, ${zone === 'local' ? "the agent's local time" : zone}.`;
}
