// Desktop notifications of failures, for those who want them.

/** @import {AgentEvent} from './types.js' */
import { exit } from './format.js';
import { pref } from './prefs.js';
import { store } from './store.js';

export function startNotices() {
  /** @type {AgentEvent|undefined} */
  let newest;
  store.on('events', () => {
    const at = newest ? store.events.lastIndexOf(newest) : store.events.length - 1;
    const fresh = store.events.slice(at + 1);
    newest = store.events.at(-1);
    if (!pref('notify') || !('Notification' in window) || Notification.permission !== 'granted') {
      return;
    }
    for (const event of fresh) {
      if (event.kind === 'run-finished' && event.run?.outcome === 'failure' && event.permanent) {
        const note = new Notification(`✗ ${event.job}`, { body: `${exit(event.run.exit_code)}${event.run.fail_reason ? `: ${event.run.fail_reason}` : ''}`, tag: `yacron2 ${event.job}` });
        note.onclick = () => {
          window.focus();
          location.hash = `#job/${encodeURIComponent(event.job ?? '')}`;
        };
      }
    }
  });
}
