// Building elements. Nothing here takes markup: whatever comes from the API ends up in
// text nodes and attributes, so that it can't become anything else.

/** @typedef {Node|string|number|null|undefined|false} Child */
/** @typedef {Record<string, unknown>} Props */

const svgSpace = 'http://www.w3.org/2000/svg';

/**
 * Makes an element. Of props, class, text and on* (listeners) have a meaning of their
 * own, false and null leave an attribute out, true makes it empty.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  apply(el, props);
  append(el, children);
  return el;
}

/**
 * Makes an SVG element, as h does.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, props, ...children) {
  const el = document.createElementNS(svgSpace, tag);
  apply(el, props);
  append(el, children);
  return el;
}

/**
 * @param {Element} el
 * @param {Props|undefined} props
 */
function apply(el, props) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (key === 'text') {
      el.textContent = String(value);
    } else if (key.startsWith('on') && typeof value === 'function') {
      el.addEventListener(key.slice(2), /** @type {EventListener} */ (value));
    } else {
      setAttribute(el, key, value);
    }
  }
}

/**
 * @param {Element} el
 * @param {Child[]} children
 */
function append(el, children) {
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) {
      el.append(child instanceof Node ? child : String(child));
    }
  }
}

/**
 * Sets an attribute if it differs: writing the same again costs a style recalculation.
 * false, null and undefined take it away, but an ARIA state is false then.
 * @param {Element} el
 * @param {string} name
 * @param {unknown} value
 */
export function setAttribute(el, name, value) {
  // The states of ARIA are words; all other booleans are there or not.
  const word = name.startsWith('aria-');
  if (value === null || value === undefined || (value === false && !word)) {
    el.removeAttribute(name);
    return;
  }
  const text = value === true && !word ? '' : String(value);
  if (el.getAttribute(name) !== text) {
    el.setAttribute(name, text);
  }
}

/**
 * Sets the text of an element if it differs.
 * @param {Element} el
 * @param {string} text
 */
export function setText(el, text) {
  if (el.textContent !== text) {
    el.textContent = text;
  }
}

/**
 * Puts other children into an element.
 * @param {Element} el
 * @param {...Child} children
 */
export function replace(el, ...children) {
  el.replaceChildren();
  append(el, children);
}

/**
 * A text of unknown origin inside a line: isolated, so that marks for the direction of
 * writing in it turn around nothing else.
 * @param {string} text
 * @param {string} [className]
 */
export function isolated(text, className) {
  return h('bdi', { class: className, text });
}

/**
 * A button.
 * @param {string} label
 * @param {(event: MouseEvent) => void} act
 * @param {Props} [props]
 */
export function button(label, act, props) {
  return h('button', { type: 'button', onclick: act, ...props }, label);
}

/**
 * The first element that matches, which must be there.
 * @template {Element} T
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => T} kind
 * @returns {T}
 */
export function find(root, selector, kind) {
  const el = root.querySelector(selector);
  if (!(el instanceof kind)) {
    throw new Error(`no ${selector} in the page`);
  }
  return el;
}
