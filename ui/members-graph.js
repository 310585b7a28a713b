// The drawing of a cluster: who is there, and who agrees with whom.

/** @import {Cluster} from './types.js' */
/** @import {Link, Member} from './members.js' */
import { svg } from './dom.js';
import { links, members, statuses } from './members.js';

const [width, height] = [480, 220];
const radius = 15;

/** @type {Record<Link['kind'], string>} */
const linkWords = {
  both: 'agree with each other', one: 'only the first agrees with the second', none: 'do not agree', unknown: 'nothing is known',
};

/**
 * Places members on an ellipse, this node at the top.
 * @param {number} i
 * @param {number} n
 * @returns {[number, number]}
 */
function place(i, n) {
  if (n === 1) {
    return [width / 2, height / 2];
  }
  const angle = (2 * Math.PI * i) / n - Math.PI / 2;
  // Room for the names: beside the circles, and above the first.
  return [width / 2 + (width / 2 - 125) * Math.cos(angle), height / 2 + 8 + (height / 2 - 52) * Math.sin(angle)];
}

/** @param {string} text @param {number} most */
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/**
 * Draws the members of a gossip cluster.
 * @param {Cluster} cluster
 */
export function membersGraph(cluster) {
  const list = members(cluster);
  const at = new Map(list.map((member, i) => [member.key, place(i, list.length)]));
  /** @type {(member: Member) => [number, number]} */
  const where = (member) => at.get(member.key) ?? [0, 0];
  const agreed = list.filter((member) => member.status === 'agreed').length;
  return svg('svg', {
    class: 'graph', viewBox: `0 0 ${width} ${height}`, role: 'img', 'data-testid': 'members-graph',
    'aria-label': `${list.length} members; ${agreed} of ${list.length - 1} peers agree with this node. The table beside says the same.`,
  },
  svg('defs', {}, svg('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto-start-reverse' }, svg('path', { d: 'M0 0L8 4L0 8z', fill: 'context-stroke' }))),
  ...links(list).map((link) => drawLink(link, where(link.from), where(link.to))),
  ...list.map((member) => drawMember(member, where(member), cluster)));
}

/**
 * @param {Link} link
 * @param {[number, number]} from
 * @param {[number, number]} to
 */
function drawLink({ from, to, kind }, [x1, y1], [x2, y2]) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [dx, dy] = [((x2 - x1) / length) * (radius + 5), ((y2 - y1) / length) * (radius + 5)];
  const ends = { x1: x1 + dx, y1: y1 + dy, x2: x2 - dx, y2: y2 - dy };
  const [mx, my] = [(x1 + x2) / 2, (y1 + y2) / 2];
  return svg('g', { class: `link link-${kind}`, 'data-from': from.name, 'data-to': to.name, 'data-kind': kind },
    svg('title', {}, `${from.name} and ${to.name}: ${linkWords[kind]}`),
    svg('line', { ...ends, 'marker-end': kind === 'one' ? 'url(#arrow)' : undefined }),
    kind === 'none' ? svg('path', { class: 'cross', d: `M${mx - 5} ${my - 5}l10 10m0 -10l-10 10` }) : null);
}

/**
 * @param {Member} member
 * @param {[number, number]} at
 * @param {Cluster} cluster
 */
function drawMember(member, [x, y], cluster) {
  const { kind, glyph, words } = statuses[member.status];
  const self = member.peer === null;
  // Beside the circle where it stands at a side, else above or below it.
  const side = Math.abs(x - width / 2) < 30 ? 0 : Math.sign(x - width / 2);
  const anchor = side === 0 ? 'middle' : side > 0 ? 'start' : 'end';
  const [tx, ty] = side === 0 ? [x, y < height / 2 ? y - radius - 23 : y + radius + 18] : [x + side * (radius + 8), y - 1];
  const marks = [
    self ? 'this node' : member.status,
    member.leader && cluster.elect_leader ? 'leader' : '',
    member.stopping ? 'stopping' : '',
  ].filter(Boolean).join(' · ');
  return svg('g', { class: `member ${kind}${self ? ' self' : ''}${member.leader ? ' leads' : ''}`, 'data-testid': 'member-node', 'data-node': member.name, 'data-status': member.status },
    svg('title', {}, `${member.name}${member.host ? ` (${member.host})` : ''}: ${words}`),
    member.leader && cluster.elect_leader ? svg('circle', { class: 'halo', cx: x, cy: y, r: radius + 4 }) : null,
    svg('circle', { cx: x, cy: y, r: radius }),
    svg('text', { class: 'sign', x, y: y + 5, 'text-anchor': 'middle' }, member.leader && cluster.elect_leader ? '★' : glyph),
    svg('text', { class: 'name', x: tx, y: ty, 'text-anchor': anchor }, cut(member.name, 18)),
    svg('text', { class: 'marks', x: tx, y: ty + 14, 'text-anchor': anchor }, marks));
}

/**
 * Draws a lease: this node, the store, and who holds.
 * @param {Cluster} cluster
 */
export function leaseGraph(cluster) {
  const holder = typeof cluster.lease?.['holder'] === 'string' ? cluster.lease['holder'] : '';
  const mine = cluster.is_leader === true;
  const reach = cluster.quorate === true;
  const [xs, y] = [width / 2, height / 2 - 10];
  const node = (/** @type {number} */ x, /** @type {string} */ name, /** @type {string} */ words, /** @type {string} */ kind, /** @type {boolean} */ leads) => svg('g', {
    class: `member ${kind}${leads ? ' leads' : ''}`, 'data-testid': 'member-node', 'data-node': name, 'data-status': words,
  },
  leads ? svg('circle', { class: 'halo', cx: x, cy: y, r: radius + 4 }) : null,
  svg('circle', { cx: x, cy: y, r: radius }),
  svg('text', { class: 'sign', x, y: y + 5, 'text-anchor': 'middle' }, leads ? '★' : '●'),
  svg('text', { class: 'name', x, y: y + radius + 18, 'text-anchor': 'middle' }, cut(name, 18)),
  svg('text', { class: 'marks', x, y: y + radius + 32, 'text-anchor': 'middle' }, words));
  const line = (/** @type {number} */ x1, /** @type {number} */ x2, /** @type {string} */ kind) => svg('g', { class: `link link-${kind}` }, svg('line', { x1, x2, y1: y, y2: y }),
    kind === 'none' ? svg('path', { class: 'cross', d: `M${(x1 + x2) / 2 - 5} ${y - 5}l10 10m0 -10l-10 10` }) : null);
  const other = !mine && holder !== '';
  return svg('svg', {
    class: 'graph', viewBox: `0 0 ${width} ${height}`, role: 'img', 'data-testid': 'members-graph',
    'aria-label': `This node ${reach ? 'reaches' : 'does not reach'} the store; ${mine ? 'it holds the lease' : holder ? `${holder} holds the lease` : 'nobody holds the lease'}.`,
  },
  line(90 + radius + 6, xs - 40, reach ? 'both' : 'none'),
  other ? line(xs + 40, width - 90 - radius - 6, reach ? 'both' : 'unknown') : null,
  svg('g', { class: 'store' },
    svg('path', { d: `M${xs - 34} ${y - 24}v48c0 14 68 14 68 0v-48c0 -14 -68 -14 -68 0c0 14 68 14 68 0` }),
    svg('text', { class: 'name', x: xs, y: y + 8, 'text-anchor': 'middle' }, cluster.backend ?? ''),
    svg('text', { class: 'marks', x: xs, y: y + 56, 'text-anchor': 'middle' }, reach ? '' : 'unreachable')),
  node(90, cluster.node_name ?? '', mine ? 'this node · leader' : 'this node', 'is-running self', mine),
  other ? node(width - 90, holder, reach ? 'leader' : 'leader when last seen', reach ? 'is-ok' : 'is-pending', reach) : null);
}
