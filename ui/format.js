// How times, lengths of time and numbers are written. Everything is pure.

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * A length of time in at most two units: "850 ms", "12 s", "3 min 20 s", "2 d 4 h".
 * @param {number|null|undefined} seconds
 */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) {
    return '–';
  }
  if (seconds < 1) {
    return `${Math.round(seconds * 1000)} ms`;
  }
  if (seconds < 10) {
    return `${seconds.toFixed(1)} s`;
  }
  return span(seconds);
}

/**
 * A length of time in whole seconds, at most two units.
 * @param {number} seconds not negative
 */
export function span(seconds) {
  const s = Math.floor(seconds);
  if (s < minute) {
    return `${s} s`;
  }
  if (s < hour) {
    return two(s, minute, 'min', 1, 's');
  }
  if (s < day) {
    return two(s, hour, 'h', minute, 'min');
  }
  return two(s, day, 'd', hour, 'h');
}

/**
 * @param {number} s
 * @param {number} large
 * @param {string} largeName
 * @param {number} small
 * @param {string} smallName
 */
function two(s, large, largeName, small, smallName) {
  const rest = Math.floor((s % large) / small);
  const head = `${Math.floor(s / large)} ${largeName}`;
  return rest === 0 ? head : `${head} ${rest} ${smallName}`;
}

/**
 * How long ago, in one unit: "now", "12 s ago", "3 min ago".
 * @param {number} ms
 */
export function age(ms) {
  const s = Math.floor(ms / 1000);
  if (s < 1) {
    return 'now';
  }
  return `${coarse(s)} ago`;
}

/**
 * A length of time in its largest unit.
 * @param {number} seconds
 */
export function coarse(seconds) {
  const s = Math.floor(seconds);
  if (s < 2 * minute) {
    return `${s} s`;
  }
  if (s < 2 * hour) {
    return `${Math.floor(s / minute)} min`;
  }
  if (s < 2 * day) {
    return `${Math.floor(s / hour)} h`;
  }
  return `${Math.floor(s / day)} d`;
}

/**
 * A countdown: "due", "12 s", "4 min 03 s", "2 h 10 min".
 * @param {number} ms
 */
export function countdown(ms) {
  const s = Math.ceil(ms / 1000);
  return s <= 0 ? 'due' : `in ${span(s)}`;
}

/**
 * An instant in UTC: "2026-01-31 06:00:00 UTC".
 * @param {string|number|null|undefined} instant
 */
export function utc(instant) {
  if (instant === null || instant === undefined) {
    return '–';
  }
  const text = new Date(instant).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 19)} UTC`;
}

/**
 * The time of the day in UTC: "06:00:00".
 * @param {string|number} instant
 */
export function clock(instant) {
  return new Date(instant).toISOString().slice(11, 19);
}

/**
 * An instant in the browser's zone, for hovering.
 * @param {string|number|null|undefined} instant
 */
export function local(instant) {
  if (instant === null || instant === undefined) {
    return '';
  }
  return new Date(instant).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

/**
 * The short form of a job-set id: the first 12 hex digits.
 * @param {string|null|undefined} id
 */
export function shortID(id) {
  return id ? id.replace(/^v\d+:/, '').slice(0, 12) : '–';
}

/**
 * A share as a percentage.
 * @param {number|null} share 0 to 1
 */
export function percent(share) {
  if (share === null) {
    return '–';
  }
  // 99.96 % must not look like all.
  const value = share * 100;
  return `${value === 100 || value === 0 ? value : value.toFixed(1)} %`;
}

/**
 * A number of bytes.
 * @param {number} amount
 */
export function bytes(amount) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  let n = amount;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${n >= 100 || unit === 0 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

/**
 * A count with its noun: "1 job", "3 jobs".
 * @param {number} n
 * @param {string} noun
 * @param {string} [plural]
 */
export function count(n, noun, plural) {
  return `${n.toLocaleString('en')} ${n === 1 ? noun : (plural ?? `${noun}s`)}`;
}

/**
 * What an exit code says: "exit 1", "signal 15 (SIGTERM)", "timed out".
 * @param {number|null|undefined} code
 */
export function exit(code) {
  if (code === null || code === undefined) {
    return 'no exit code';
  }
  if (code === -100) {
    return 'timed out';
  }
  if (code < 0) {
    return signals[-code] ?? `signal ${-code}`;
  }
  return `exit ${code}`;
}

/** @type {Record<number, string>} */
const signals = {
  1: 'SIGHUP', 2: 'SIGINT', 3: 'SIGQUIT', 4: 'SIGILL', 6: 'SIGABRT', 7: 'SIGBUS', 8: 'SIGFPE',
  9: 'SIGKILL', 11: 'SIGSEGV', 13: 'SIGPIPE', 14: 'SIGALRM', 15: 'SIGTERM',
};
