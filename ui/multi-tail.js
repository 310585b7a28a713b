/** @param {string[]} names */
export function openTail(names) {
  location.hash = `#job/${encodeURIComponent(names[0] ?? '')}`;
}
