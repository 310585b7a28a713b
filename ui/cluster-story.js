// What happened to the cluster lately: roles, members and configurations, the newest first.

/** @import {AgentEvent} from './types.js' */
import { h, isolated, replace } from './dom.js';
import * as format from './format.js';
import { roleStretches } from './history-lanes.js';
import { statuses } from './members.js';
import { store } from './store.js';

const most = 100;

/**
 * An event in words: what it looks like, who, what.
 * @param {AgentEvent} event
 * @returns {[string, string, string]|null}
 */
function words({ kind, node, role, member, reload }) {
  if (kind === 'role' && role) {
    const [stretch] = roleStretches([{ kind, at: '', node, role }]);
    return [stretch?.kind ?? '', node, stretch?.words ?? ''];
  }
  if (kind === 'member' && member && member.status !== 'unknown') {
    return [statuses[member.status]?.kind ?? '', member.node_name ?? member.host,
      `${member.stopping ? 'stopping, ' : ''}${member.status}${member.last_error ? `: ${member.last_error}` : ''}`];
  }
  if (kind === 'reload' && reload) {
    return reload.state === 'failed'
      ? ['is-failed', node, `reload failed: ${format.count(reload.errors, 'error')}`]
      : ['', node, `configuration loaded (${reload.trigger}): ${format.count(reload.jobs, 'job')}`];
  }
  return null;
}

class ClusterStory extends HTMLElement {
  #shown = -1;

  connectedCallback() {
    store.on('events', () => this.#draw());
    this.#draw();
  }

  #draw() {
    const told = store.events.flatMap((event) => {
      const said = words(event);
      return said ? [{ event, said }] : [];
    });
    if (told.length === this.#shown) {
      return;
    }
    this.#shown = told.length;
    replace(this, h('h3', {}, 'What happened'),
      told.length === 0 ? h('p', { class: 'dim' }, 'Nothing has changed since the agent started.') : h('table', { class: 'list' },
        h('thead', {}, h('tr', {}, ...['When', 'Node', 'What'].map((label) => h('th', { scope: 'col' }, label)))),
        h('tbody', {}, ...told.slice(-most).reverse().map(({ event, said: [look, who, what] }) => h('tr', {},
          h('td', { class: 'tight dim', title: format.local(event.at) }, format.utc(event.at)),
          h('td', { class: 'tight' }, isolated(who)),
          h('td', { class: look }, isolated(what)))))));
  }
}

customElements.define('cluster-story', ClusterStory);
