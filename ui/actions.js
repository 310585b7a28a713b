// What can be done to jobs and to the agent, each with a word about what came of it.

import * as api from './api.js';
import { count, utc } from './format.js';
import { store } from './store.js';
import { toast } from './toasts.js';

/**
 * @param {string} failed what to say before the reason
 * @param {() => Promise<string>} act returns what to say of success, '' for nothing
 * @returns {Promise<boolean>} whether it was done
 */
async function attempt(failed, act) {
  try {
    const said = await act();
    if (said) {
      toast(said, 'good');
    }
    return true;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    toast(`${failed}: ${reason}`, 'bad');
    if (error instanceof api.APIError && error.status === 401) {
      document.dispatchEvent(new CustomEvent('locked'));
    }
    return false;
  }
}

/** @param {string} name */
export async function run(name) {
  const job = store.entries.get(name)?.job;
  const done = await attempt(`${name} was not started`, async () => {
    await api.start(name);
    return job?.running ? `${name}: started again, as far as its concurrencyPolicy allows` : `${name}: started`;
  });
  await store.touch(name);
  return done;
}

/** @param {string} name */
export async function cancel(name) {
  const done = await attempt(`${name} was not stopped`, async () => {
    await api.cancel(name);
    return `${name}: stopped`;
  });
  await store.touch(name);
  return done;
}

/**
 * @param {string} name
 * @param {number} seconds
 * @param {string} note
 */
export async function pause(name, seconds, note) {
  const done = await attempt(`${name} was not paused`, async () => {
    const { until } = await api.pause(name, note ? { seconds, note } : { seconds });
    return `${name}: paused on this node until ${utc(until)}`;
  });
  await store.touch(name);
  return done;
}

/** @param {string} name */
export async function resume(name) {
  const done = await attempt(`${name} was not resumed`, async () => {
    await api.resume(name);
    return `${name}: fires again`;
  });
  await store.touch(name);
  return done;
}

/** Loads the configuration. */
export async function reload() {
  await attempt('The configuration was not loaded', async () => {
    const status = await api.reload();
    if (status.state === 'failed') {
      toast(`The configuration has ${count(status.errors.length, 'error')}: the old one stays in effect`, 'bad');
      return '';
    }
    return `Configuration loaded: ${count(status.jobs, 'job')}`;
  });
  store.refresh();
}

/**
 * @param {string} text
 * @param {string} what
 */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without a secure connection there is no clipboard, but the old way works.
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'visually-hidden';
    (document.querySelector('dialog[open]') ?? document.body).append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  toast(`Copied ${what}`, 'good');
}
