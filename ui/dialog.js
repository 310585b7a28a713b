// Modal dialogs on the browser's own element, which keeps the focus in and gives it back.

import { button, h, isolated } from './dom.js';

/** @import {Child} from './dom.js' */

/**
 * Opens a dialog with a form.
 * @param {string} title
 * @param {string} testid
 * @param {Child[]} content
 * @param {string} [submit] label of the button that does it; without one there is only Close
 * @param {() => boolean} [act] done when the form is sent; false keeps the dialog open
 * @returns {HTMLDialogElement}
 */
export function open(title, testid, content, submit, act) {
  const id = `${testid}-title`;
  const dialog = h('dialog', { 'aria-labelledby': id, 'data-testid': testid });
  const form = h('form', { method: 'dialog' },
    h('h2', { id }, isolated(title)), ...content,
    h('div', { class: 'acts' },
      button(submit ? 'Cancel' : 'Close', () => dialog.close(), {}),
      submit ? h('button', { class: 'primary', type: 'submit', 'data-testid': 'dialog-submit' }, submit) : null));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (act?.() ?? true) {
      dialog.close();
    }
  });
  // A click beside it closes it.
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) {
      dialog.close();
    }
  });
  dialog.addEventListener('close', () => dialog.remove());
  dialog.append(form);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
