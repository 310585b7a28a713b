// What one node knows of the members of its cluster and of the links between them.
// Everything is pure.

/** @import {Cluster, Peer, PeerStatus} from './types.js' */

/**
 * @typedef {object} Member
 * @property {string} key of the drawing: unique
 * @property {string} name to show
 * @property {string} host '' for this node
 * @property {PeerStatus} status
 * @property {boolean} leader
 * @property {boolean} stopping
 * @property {string} instance
 * @property {Peer|null} peer null for this node
 */

/**
 * both: each has the other as agreed; one: only from does, or only that is known of;
 * none: neither; unknown: nobody told.
 * @typedef {{from: Member, to: Member, kind: 'both'|'one'|'none'|'unknown'}} Link
 */

/** How a status looks and what it means. @type {Record<PeerStatus, {kind: string, glyph: string, words: string}>} */
export const statuses = {
  self: { kind: 'is-running', glyph: '◉', words: 'this very process answers there' },
  agreed: { kind: 'is-ok', glyph: '●', words: 'runs the same jobs' },
  syncing: { kind: 'is-warning', glyph: '◐', words: 'has other jobs at the moment, as during a rollout' },
  drifted: { kind: 'is-failed', glyph: '◧', words: 'has had other jobs for several rounds' },
  untrusted: { kind: 'is-failed', glyph: '✗', words: 'its certificate, or ours there, is not accepted' },
  conflict: { kind: 'is-failed', glyph: '⚠', words: 'another process uses the name of this node' },
  unreachable: { kind: 'is-pending', glyph: '○', words: 'does not answer' },
  unknown: { kind: 'is-disabled', glyph: '◌', words: 'not asked yet' },
};

/** @param {PeerStatus} status */
const fresh = (status) => status === 'agreed' || status === 'syncing' || status === 'drifted' || status === 'conflict';

/**
 * This node first, then its peers; addresses that lead back to it are left out.
 * @param {Cluster} cluster
 * @returns {Member[]}
 */
export function members(cluster) {
  // In a conflict nobody leads, whoever would.
  const leader = cluster.conflict ? null : cluster.leader;
  const leads = cluster.is_leader === true && !cluster.conflict;
  /** @type {Member[]} */
  const list = [{
    key: 'self', name: cluster.node_name ?? '', host: '', status: 'self', leader: leads,
    stopping: cluster.stopping ?? false, instance: cluster.instance_id ?? '', peer: null,
  }];
  for (const peer of cluster.peers) {
    if (peer.status !== 'self') {
      const name = peer.node_name ?? peer.host;
      list.push({
        key: peer.host, name, host: peer.host, status: peer.status, stopping: peer.stopping ?? false, instance: peer.instance_id ?? '', peer,
        leader: peer.node_name !== null && peer.node_name === leader && !leads,
      });
    }
  }
  return list;
}

/**
 * Whether a agrees with b; undefined if that is not known.
 * @param {Member} a
 * @param {Member} b
 * @returns {boolean|undefined}
 */
function agrees(a, b) {
  if (!a.peer) {
    return b.status === 'unknown' ? undefined : b.status === 'agreed';
  }
  if (!fresh(a.status) || !a.peer.members) {
    return undefined;
  }
  const told = a.peer.members.find((m) => (m.instance_id && b.instance ? m.instance_id === b.instance : m.node_name === b.name));
  return told?.agreed ?? false;
}

/**
 * The links between all members.
 * @param {Member[]} list
 * @returns {Link[]}
 */
export function links(list) {
  /** @type {Link[]} */
  const found = [];
  list.forEach((a, i) => {
    for (const b of list.slice(i + 1)) {
      const [there, back] = [agrees(a, b), agrees(b, a)];
      if (there && back) {
        found.push({ from: a, to: b, kind: 'both' });
      } else if (there && back === undefined && !a.peer && b.peer && !b.peer.members) {
        // A peer that tells nothing of others is taken at its own word.
        found.push({ from: a, to: b, kind: 'both' });
      } else if (there || back) {
        found.push(there ? { from: a, to: b, kind: 'one' } : { from: b, to: a, kind: 'one' });
      } else {
        found.push({ from: a, to: b, kind: there === undefined && back === undefined ? 'unknown' : 'none' });
      }
    }
  });
  return found;
}

/**
 * What this node is, in a few words.
 * @param {Cluster} cluster
 */
export function role(cluster) {
  if (cluster.conflict) {
    return 'standing down (conflict)';
  }
  if (cluster.distribution === 'spread') {
    return cluster.quorate ? 'spread (per-job owner)' : 'spread (no quorum)';
  }
  if (cluster.is_leader) {
    return 'leader';
  }
  if (cluster.leader) {
    return `follower (leader: ${cluster.leader})`;
  }
  if (cluster.quorate) {
    return 'follower';
  }
  return cluster.backend === 'gossip' ? 'no quorum' : 'no quorum (store unreachable)';
}

/**
 * How much is left of a certificate.
 * @param {string} end
 * @param {number} now
 * @returns {{days: number, kind: string}}
 */
export function remaining(end, now) {
  const days = (Date.parse(end) - now) / 86_400_000;
  return { days, kind: days < 3 ? 'is-failed' : days < 14 ? 'is-warning' : '' };
}
