// The client of the HTTP API: requests with the token, and server-sent events read by
// fetch, since EventSource can't send a token.

/** @import {AgentEvent, Cluster, ConfigStatus, Fleet, Job, LogLine, Next, Pause, Problem, Runs, SchedulePreview, Why} from './types.js' */

const tokenKey = 'yacron2.token';
// A request that hangs longer than this counts as failed; streams have their own limit.
const patience = 10_000;
// The agent breaks the silence of a stream every 15 s: twice that is a dead connection.
const silence = 40_000;

/** An answer that is not the one wanted. */
export class APIError extends Error {
  /**
   * @param {number} status 0 if there was no answer
   * @param {string} message
   * @param {Problem[]} [problems] that the message sums up
   */
  constructor(status, message, problems = []) {
    super(message);
    this.status = status;
    this.problems = problems;
  }
}

/** The token of this tab, '' without one. */
export function token() {
  return sessionStorage.getItem(tokenKey) ?? '';
}

/** @param {string} value '' forgets it */
export function setToken(value) {
  if (value) {
    sessionStorage.setItem(tokenKey, value);
  } else {
    sessionStorage.removeItem(tokenKey);
  }
}

/** @param {string} name */
const jobPath = (name) => `jobs/${encodeURIComponent(name)}`;

/**
 * @param {string} path
 * @param {RequestInit} init
 */
async function request(path, init) {
  const headers = new Headers(init.headers);
  headers.set('Accept', headers.get('Accept') ?? 'application/json');
  const sent = token();
  if (sent) {
    headers.set('Authorization', `Bearer ${sent}`);
  }
  let response;
  try {
    response = await fetch(path, { ...init, headers, cache: 'no-store', credentials: 'same-origin' });
  } catch (error) {
    if (init.signal?.aborted && init.signal.reason?.name === 'TimeoutError') {
      throw new APIError(0, `no answer within ${patience / 1000} s`);
    }
    if (init.signal?.aborted) {
      throw error;
    }
    throw new APIError(0, 'the agent does not answer');
  }
  if (response.status === 401 && token() !== sent) {
    // It says nothing of the token that has taken its place, which is asked with anew.
    throw new DOMException('asked with a token that was replaced', 'AbortError');
  }
  return response;
}

/**
 * Takes the body of an answer; what breaks off on the way is no answer either.
 * @template T
 * @param {Promise<T>} body
 * @returns {Promise<T>}
 */
async function whole(body) {
  try {
    return await body;
  } catch (error) {
    throw new APIError(0, error instanceof SyntaxError ? 'the answer is not of an agent' : 'the answer broke off');
  }
}

/** @param {Response} response */
async function refusal(response) {
  const text = await response.text().catch(() => '');
  let message = text.replace(/^\d{3}: /, '');
  let problems;
  try {
    const body = JSON.parse(text);
    message = body.error ?? body.reason ?? message;
    problems = body.problems;
  } catch {
    // Plain text it is: a proxy in between knows nothing of our JSON.
  }
  return new APIError(response.status, message.slice(0, 500) || response.statusText || `status ${response.status}`, problems);
}

/** Where an instant of the agent's clock comes from: told of the Date of each answer. */
export const clockListeners = new Set(/** @type {((serverTime: number, from: number, to: number) => void)[]} */ ([]));

/**
 * Asks for JSON.
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
async function get(path, signal) {
  const limit = AbortSignal.timeout(patience);
  const from = Date.now();
  const response = await request(path, { signal: signal ? AbortSignal.any([signal, limit]) : limit });
  const date = Date.parse(response.headers.get('Date') ?? '');
  for (const told of clockListeners) {
    if (!Number.isNaN(date)) {
      told(date, from, Date.now());
    }
  }
  if (!response.ok) {
    throw await refusal(response);
  }
  return whole(response.json());
}

/**
 * Orders something. There is no time limit: to cancel a job may take its killTimeout.
 * @param {string} path
 * @param {object} [body]
 */
async function post(path, body) {
  /** @type {RequestInit} */
  const init = { method: 'POST' };
  if (body) {
    init.body = JSON.stringify(body);
    init.headers = { 'Content-Type': 'application/json' };
  }
  const response = await request(path, init);
  if (!response.ok) {
    throw await refusal(response);
  }
  return response;
}

/** @returns {Promise<string>} */
export async function version() {
  const response = await request('version', { signal: AbortSignal.timeout(patience) });
  if (!response.ok) {
    throw await refusal(response);
  }
  return whole(response.text());
}

/** @returns {Promise<Job[]>} */
export const jobs = () => get('jobs');
/** @param {string} name @returns {Promise<Job>} */
export const job = (name) => get(jobPath(name));
/** @param {string} name @returns {Promise<Runs>} */
export const runs = (name) => get(`${jobPath(name)}/runs`);
/** @param {string} name @param {number} n @returns {Promise<Next>} */
export const next = (name, n) => get(`${jobPath(name)}/next?n=${n}`);
/** @param {string} query @returns {Promise<SchedulePreview>} */
export const preview = (query) => get(`schedule/next?${query}`);
/** @param {string} name @returns {Promise<Why>} */
export const why = (name) => get(`${jobPath(name)}/why`);
/** @returns {Promise<Cluster>} */
export const cluster = () => get('cluster');
/** @returns {Promise<Fleet>} */
export const fleet = () => get('fleet');
/** @returns {Promise<ConfigStatus>} */
export const configStatus = () => get('config/status');

/** Why the agent is not ready, '' if it is. */
export async function notReady() {
  const response = await request('ready', { signal: AbortSignal.timeout(patience) });
  if (response.status === 503) {
    const body = await response.json().catch(() => ({}));
    return String(body.reason ?? 'the agent is not ready');
  }
  if (!response.ok) {
    throw await refusal(response);
  }
  return '';
}

/** @param {string} name */
export const start = (name) => post(`${jobPath(name)}/start`);
/** @param {string} name */
export const cancel = (name) => post(`${jobPath(name)}/cancel`);
/** @param {string} name */
export const resume = (name) => post(`${jobPath(name)}/resume`);
/**
 * @param {string} name
 * @param {{seconds?: number, note?: string}} body
 * @returns {Promise<Pause>}
 */
export const pause = async (name, body) => whole((await post(`${jobPath(name)}/pause`, body)).json());

/** Loads the configuration. Files with errors are an answer too. @returns {Promise<ConfigStatus>} */
export async function reload() {
  const response = await request('reload', { method: 'POST' });
  if (!response.ok && response.status !== 422) {
    throw await refusal(response);
  }
  return whole(response.json());
}

/** @typedef {{id: string, name: string, data: string}} Message */

/**
 * Reads server-sent events until the stream ends.
 * @param {string} path
 * @param {{signal: AbortSignal, after?: string, open?: () => void, take: (messages: Message[]) => void}} options
 *   after: the id of the last message known; take gets what came at once together
 */
export async function stream(path, { signal, after, open, take }) {
  const dead = new AbortController();
  /** @type {Record<string, string>} */
  const headers = { Accept: 'text/event-stream, application/json;q=0.1' };
  if (after) {
    headers['Last-Event-ID'] = after;
  }
  const response = await request(path, { headers, signal: AbortSignal.any([signal, dead.signal]) });
  if (!response.ok || !response.body) {
    throw await refusal(response);
  }
  open?.();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const timer = setTimeout(() => dead.abort(), silence);
    let chunk;
    try {
      chunk = await reader.read();
    } catch (error) {
      throw signal.aborted ? error : new APIError(0, 'the stream was cut off');
    } finally {
      clearTimeout(timer);
    }
    if (chunk.done) {
      return;
    }
    const blocks = (rest + chunk.value).split('\n\n');
    rest = blocks.pop() ?? '';
    const messages = blocks.map(message).filter((m) => m.data !== '');
    if (messages.length > 0) {
      take(messages);
    }
  }
}

/**
 * Reads one message; a comment has no data.
 * @param {string} block
 * @returns {Message}
 */
function message(block) {
  const m = { id: '', name: 'message', data: '' };
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    const value = line.slice(at + 1).replace(/^ /, '');
    switch (line.slice(0, Math.max(at, 0))) {
      case 'id': m.id = value; break;
      case 'event': m.name = value; break;
      case 'data': m.data = m.data ? `${m.data}\n${value}` : value; break;
      default: // a comment
    }
  }
  return m;
}

// How many events of before a page begins with.
const past = 1000;

/**
 * Follows what happens on the agent, beginning with what happened lately.
 * @param {{signal: AbortSignal, after: string, open: () => void, take: (events: AgentEvent[], lastID: string) => void}} options
 */
export function events({ signal, after, open, take }) {
  // Who comes for the first time wants to know what has happened lately.
  return stream(after ? 'events' : `events?last=${past}`, {
    signal, after, open,
    take: (messages) => take(messages.map((m) => JSON.parse(m.data)), messages.findLast((m) => m.id)?.id ?? ''),
  });
}

/** The run that the id of a line of its output is of. @param {string} id */
export const runOf = (id) => id.replace(/[-+]\d+$/, '');

/**
 * Follows what the newest run of a job prints. The answer is that run, and the reason of
 * the end: no-output, '' (the run has ended) or cut (the stream has).
 * @param {string} name
 * @param {{signal: AbortSignal, after: string, open: () => void, take: (lines: LogLine[], lastID: string) => void}} options
 * @returns {Promise<{reason: string, run: string}>}
 */
export async function logs(name, { signal, after, open, take }) {
  const ended = { reason: 'cut', run: '' };
  await stream(`${jobPath(name)}/logs`, {
    signal, after, open,
    take: (messages) => {
      const lines = messages.filter((m) => m.name === 'line');
      if (lines.length > 0) {
        take(lines.map((m) => JSON.parse(m.data)), lines.at(-1)?.id ?? '');
      }
      const end = messages.find((m) => m.name === 'end');
      if (end) {
        ended.reason = JSON.parse(end.data).reason ?? '';
        ended.run = runOf(end.id);
      }
    },
  });
  return ended;
}
