// Short notes about what an action came to.

import { h } from './dom.js';

const lasts = 5000;
const lastsBad = 12_000;
const most = 4;

class ToastList extends HTMLElement {
  connectedCallback() {
    this.popover = 'manual';
  }
}
customElements.define('toast-list', ToastList);

/**
 * @param {string} text
 * @param {'good'|'bad'|''} [kind]
 */
export function toast(text, kind = '') {
  const list = document.querySelector('toast-list');
  const note = h('div', { class: `toast ${kind}`, 'data-testid': 'toast', dir: 'auto', text });
  while (list && list.childElementCount >= most) {
    list.firstElementChild?.remove();
  }
  list?.append(note);
  // Above an open dialog, too.
  if (list instanceof ToastList) {
    list.hidePopover();
    list.showPopover();
  }
  note.addEventListener('click', () => note.remove());
  setTimeout(() => note.remove(), kind === 'bad' ? lastsBad : lasts);
}
