// Marks what a search found, without touching the elements: the browser paints ranges.

// More than that nobody looks at, and painting would be slow.
const most = 2000;
// Of a longer piece of a line only so much is searched.
const longest = 2000;

/**
 * @param {Element[]} lines
 * @param {RegExp|null} [pattern] with the flag g
 */
export function highlight(lines, pattern = null) {
  if (!('highlights' in CSS)) {
    return; // the lines themselves are marked all the same
  }
  if (!pattern) {
    CSS.highlights.delete('found');
    return;
  }
  /** @type {Range[]} */
  const ranges = [];
  for (const line of lines) {
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const match of (node.nodeValue ?? '').slice(0, longest).matchAll(pattern)) {
        if (match[0] === '' || ranges.length >= most) {
          break;
        }
        const range = new Range();
        range.setStart(node, match.index);
        range.setEnd(node, match.index + match[0].length);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set('found', new Highlight(...ranges));
}
