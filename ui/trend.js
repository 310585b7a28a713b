// The bars of the newest runs: height by duration, colour by outcome.

/** @import {HistoryEntry} from './types.js' */
import { healthOfOutcome, healths } from './health.js';
import { count } from './format.js';
import { setAttribute, svg } from './dom.js';

const most = 20;
const height = 20;
const step = 5;
const kinds = /** @type {const} */ (['ok', 'failed', 'cancelled', 'lost']);

/** Makes the drawing, empty. One path per outcome keeps thousands of rows cheap. */
export function trend() {
  return svg('svg', { class: 'trend', viewBox: `0 0 ${most * step} ${height}`, role: 'img' },
    ...kinds.map((kind) => svg('path', { class: `is-${kind}` })));
}

/**
 * Draws runs, oldest first; the newest is at the right.
 * @param {SVGSVGElement} drawing
 * @param {HistoryEntry[]} history
 */
export function drawTrend(drawing, history) {
  const shown = history.slice(-most);
  const longest = Math.max(0.001, ...shown.map((run) => run.duration ?? 0));
  /** @type {Record<string, string>} */
  const paths = {};
  /** @type {Record<string, number>} */
  const counts = {};
  shown.forEach((run, i) => {
    const kind = healthOfOutcome(run.outcome);
    // Square roots, or one long run would flatten all others.
    const tall = Math.max(3, Math.round(height * Math.sqrt((run.duration ?? 0) / longest)));
    const x = (most - shown.length + i) * step;
    paths[kind] = `${paths[kind] ?? ''}M${x} ${height}v${-tall}h${step - 1.5}v${tall}z`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  });
  kinds.forEach((kind, i) => {
    const path = drawing.children[i];
    if (path) {
      setAttribute(path, 'd', paths[kind] ?? '');
    }
  });
  const words = kinds.filter((kind) => counts[kind]).map((kind) => `${counts[kind]} ${healths[kind].label}`);
  setAttribute(drawing, 'aria-label', shown.length ? `last ${count(shown.length, 'run')}: ${words.join(', ')}` : 'no runs yet');
}
