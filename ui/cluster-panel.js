// The cluster as this node sees it: a line that says how things stand, a drawing, and a
// table of the peers or of the lease.

/** @import {Cluster, Peer} from './types.js' */
import * as actions from './actions.js';
import { conflictWords } from './alert-bar.js';
import { button, h, isolated, replace, setText } from './dom.js';
import * as format from './format.js';
import { leaseGraph, membersGraph } from './members-graph.js';
import { remaining, role, statuses } from './members.js';
import { store } from './store.js';

class ClusterPanel extends HTMLElement {
  #drawn = '';
  #summary = h('h2', { class: 'summary', 'data-testid': 'cluster-summary' });
  #fleet = h('a', { class: 'button small', href: '#fleet' }, 'Fleet');
  #body = h('div', { class: 'panel-body' });

  connectedCallback() {
    this.dataset['testid'] = 'cluster-panel';
    this.setAttribute('role', 'region');
    this.setAttribute('aria-label', 'Cluster');
    this.append(h('div', { class: 'panel-head' }, this.#summary, this.#fleet), this.#body);
    this.#body.after(document.createElement('cluster-story'));
    store.on('cluster', () => this.#draw());
    store.on('jobs', () => this.#draw());
    store.on('tick', () => this.#tick());
  }

  #draw() {
    const { cluster } = store;
    this.classList.toggle('none', !cluster?.enabled);
    this.classList.toggle('old', store.trouble.cluster !== '');
    if (!cluster?.enabled) {
      this.#drawn = '';
      replace(this.#summary, cluster?.error ? 'The cluster does not take part' : 'This agent is alone');
      replace(this.#body, cluster?.error ? h('p', { class: 'is-failed', text: cluster.error }) : h('p', { class: 'dim' }, 'No cluster is configured.'));
      return;
    }
    const owned = cluster.distribution === 'spread' ? owners() : null;
    // What only gets older is left to #tick, so that nothing flickers.
    const key = JSON.stringify([cluster, owned && [...owned]], (name, value) => (name === 'last_seen' || name === 'ahead' || name === 'within' || name === 'expiry' ? undefined : value));
    if (key !== this.#drawn) {
      this.#drawn = key;
      this.#fleet.hidden = cluster.backend !== 'gossip';
      replace(this.#summary, ...summary(cluster, owned));
      replace(this.#body,
        h('div', { class: 'drawing' }, cluster.lease ? leaseGraph(cluster) : membersGraph(cluster), cluster.lease ? null : legend()),
        h('div', { class: 'details' },
          ...notes(cluster).map(([text, kind]) => h('p', { class: `remark ${kind}`, text })),
          cluster.lease ? leaseTable(cluster) : peerTable(cluster, owned),
          certificates(cluster)));
    }
    this.#tick();
  }

  #tick() {
    const { cluster } = store;
    const now = store.now();
    for (const cell of this.querySelectorAll('[data-seen]')) {
      const peer = cluster?.peers.find((p) => p.host === cell.getAttribute('data-seen'));
      setText(cell, peer?.last_seen ? format.age(now - Date.parse(peer.last_seen)) : 'never');
    }
    for (const cell of this.querySelectorAll('[data-skew]')) {
      const peer = cluster?.peers.find((p) => p.host === cell.getAttribute('data-skew'));
      setText(cell, peer?.clock ? aheadText(peer.clock) : '–');
      cell.classList.toggle('is-failed', peer?.clock?.excessive === true);
    }
    const expiry = this.querySelector('[data-expiry]');
    if (expiry) {
      const end = cluster?.lease?.['expiry'];
      setText(expiry, typeof end === 'string' ? `${format.countdown(Date.parse(end) - now)} (${format.utc(end)})` : '–');
    }
  }
}

/** How many jobs each node owns. */
function owners() {
  /** @type {Map<string, number>} */
  const n = new Map();
  for (const { job } of store.entries.values()) {
    if (job.clusterOwner) {
      n.set(job.clusterOwner, (n.get(job.clusterOwner) ?? 0) + 1);
    }
  }
  return n;
}

/**
 * @param {Cluster} cluster
 * @param {Map<string, number>|null} owned
 */
function summary(cluster, owned) {
  const parts = [isolated(cluster.node_name ?? '')];
  if (cluster.lease) {
    parts.push(h('span', {}, cluster.backend ?? ''));
  } else {
    const others = cluster.peers.filter((peer) => peer.status !== 'self');
    parts.push(h('span', {}, `${others.filter((peer) => peer.status === 'agreed').length}/${others.length} agreed`));
  }
  if (cluster.elect_leader) {
    if (!cluster.lease) {
      parts.push(h('span', { class: cluster.quorate ? 'is-ok' : 'is-failed' }, `quorum ${cluster.quorate ? 'ok' : 'lost'} (need ${cluster.quorum})`));
    }
    parts.push(h('span', { class: cluster.conflict || !cluster.quorate ? 'is-failed' : cluster.is_leader ? 'is-running' : '' }, isolated(role(cluster))));
  }
  if (owned) {
    parts.push(h('span', {}, `owns ${owned.get(cluster.node_name ?? '') ?? 0}`));
  }
  return parts.flatMap((part, i) => (i === 0 ? [part] : [h('span', { class: 'faint' }, ' · '), part]));
}

/**
 * What wants to be explained.
 * @param {Cluster} cluster
 * @returns {[string, string][]}
 */
function notes(cluster) {
  /** @type {[string, string][]} */
  const list = [];
  for (const words of conflictWords(cluster)) {
    list.push([`⚠ ${words} — Leader jobs paused`, 'bad']);
  }
  for (const words of cluster.troubles ?? []) {
    list.push([`⚠ On this node: ${words}`, 'bad']);
  }
  if (cluster.elect_leader && !cluster.lease && !cluster.conflict && !cluster.quorate) {
    list.push([`${cluster.agreeing ?? 1} of ${cluster.cluster_size} nodes are in mutual agreement, ${cluster.quorum} are needed: Leader jobs wait, PreferLeader jobs run on the first node that is there.`, 'bad']);
  }
  const apart = cluster.peers.filter((peer) => peer.clock?.excessive);
  if (apart.length > 0) {
    list.push([`The clock of ${apart.map((peer) => peer.node_name ?? peer.host).join(', ')} is too far from that of this node: claims of firings may be denied.`, 'bad']);
  }
  if (!cluster.elect_leader) {
    list.push(['Leader election is off: every node runs every job.', '']);
  }
  return list;
}

/**
 * @param {Cluster} cluster
 * @param {Map<string, number>|null} owned
 */
function peerTable(cluster, owned) {
  const skews = cluster.peers.some((peer) => peer.clock);
  const certs = cluster.peers.some((peer) => peer.certificate_expires);
  const heads = ['Peer', 'Node', owned ? 'Owns' : '', 'Status', 'Job set', 'Seen', skews ? 'Clock' : '', certs ? 'Certificate' : ''].filter(Boolean);
  return h('div', { class: 'scrolled', tabindex: '0', role: 'group', 'aria-label': 'Peers' }, h('table', { class: 'list', 'data-testid': 'peer-table' },
    h('thead', {}, h('tr', {}, ...heads.map((label) => h('th', { scope: 'col' }, label)))),
    h('tbody', {}, ...cluster.peers.map((peer) => peerRow(peer, cluster, owned, skews, certs)))));
}

/**
 * @param {Peer} peer
 * @param {Cluster} cluster
 * @param {Map<string, number>|null} owned
 * @param {boolean} skews
 * @param {boolean} certs
 */
function peerRow(peer, cluster, owned, skews, certs) {
  const { kind, glyph, words } = statuses[peer.status];
  const id = peer.job_set_id ?? '';
  const differs = id !== '' && id !== cluster.job_set_id;
  return h('tr', { 'data-host': peer.host, 'data-status': peer.status },
    h('td', { class: 'tight' }, isolated(peer.host, 'mono')),
    h('td', { class: 'tight' }, peer.node_name === null ? '–' : isolated(peer.node_name), peer.node_name !== null && peer.node_name === cluster.leader && !cluster.conflict ? h('span', { class: 'chip is-running' }, 'leader') : null, peer.stopping ? h('span', { class: 'chip is-warning' }, 'stopping') : null),
    owned ? h('td', { class: 'tight' }, String(owned.get(peer.node_name ?? '') ?? '–')) : null,
    h('td', { class: `${kind} roomy`, title: words },
      h('span', { 'aria-hidden': 'true' }, `${glyph} `), peer.status,
      peer.mismatch_streak > 0 ? h('span', { class: 'dim' }, ` for ${format.count(peer.mismatch_streak, 'round')}`) : null,
      peer.last_error ? h('div', { class: 'dim small-text' }, isolated(peer.last_error)) : null),
    h('td', { class: 'tight' }, id === '' ? '–' : button(format.shortID(id), () => void actions.copy(id, 'the job-set id'), { class: `plain small mono${differs ? ' is-warning' : ''}`, title: `${id}${differs ? '\nnot the one of this node' : ''}` })),
    h('td', { class: 'tight dim', 'data-seen': peer.host }),
    skews ? h('td', { class: 'tight', 'data-skew': peer.host, title: 'How far its clock is ahead of that of this node' }) : null,
    certs ? h('td', { class: 'tight' }, peer.certificate_expires ? expiryText(peer.certificate_expires) : '–') : null);
}

/**
 * By how much a clock is ahead, no finer than is known.
 * @param {{ahead: number, within: number}} clock
 */
function aheadText({ ahead, within }) {
  const apart = Math.abs(ahead);
  if (apart <= Math.max(within, 0.01)) {
    return 'same';
  }
  return `${format.duration(apart)} ${ahead > 0 ? 'ahead' : 'behind'}`;
}

/** @param {string} end */
function expiryText(end) {
  const { days, kind } = remaining(end, store.now());
  return h('span', { class: kind, title: format.utc(end) }, days < 0 ? 'expired' : `${format.coarse(days * 86_400)} left`);
}

/** @type {Record<string, string>} */
const uses = { cluster: 'Certificate of this node', cluster_ca: 'Authority of the cluster', web: 'Certificate of this API' };

/** @param {Cluster} cluster */
function certificates(cluster) {
  const list = cluster.certificates ?? [];
  return list.length === 0 ? null : h('p', { class: 'certificates dim', 'data-testid': 'certificates' }, ...list.flatMap(({ use, expires: end }, i) => [
    i > 0 ? ' · ' : null, `${uses[use] ?? use}: `, expiryText(end),
  ]));
}

/** @param {Cluster} cluster */
function leaseTable(cluster) {
  const lease = Object.entries(cluster.lease ?? {}).filter(([, value]) => value !== null);
  return h('dl', { class: 'pairs', 'data-testid': 'lease-table' }, ...lease.flatMap(([key, value]) => [
    h('dt', {}, isolated(key)), key === 'expiry' ? h('dd', { 'data-expiry': true }) : h('dd', {}, isolated(String(value))),
  ]));
}

function legend() {
  return h('p', { class: 'legend faint' },
    h('span', { class: 'key key-both' }), 'agree with each other ', h('span', { class: 'key key-one' }), 'one way ', h('span', { class: 'key key-none' }), 'do not agree ', h('span', { class: 'key key-unknown' }), 'not known');
}

customElements.define('cluster-panel', ClusterPanel);
