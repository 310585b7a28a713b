// Single keys. None of them acts while somebody types, or while a dialog is open.

import { openPalette } from './overlays.js';

/** @param {Record<string, () => void>} keys by the name of the key */
export function startKeys(keys) {
  document.addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && (event.key === 'k' || event.key === 'p')) {
      event.preventDefault();
      openPalette();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector('dialog[open], .menu:popover-open')) {
      return;
    }
    const target = /** @type {Element} */ (event.target);
    const typing = target.closest('input:not([type="checkbox"]), textarea, select, [contenteditable]');
    if (typing) {
      if (event.key === 'Escape' && typing instanceof HTMLElement) {
        typing.blur();
      }
      return;
    }
    // Buttons, links and what scrolls have their own use of these.
    const own = target.closest('a, button, [role="log"], [role="tablist"]');
    if (own && ['Enter', ' ', 'ArrowUp', 'ArrowDown', 'PageUp', 'PageDown', 'Home', 'End'].includes(event.key)) {
      return;
    }
    const act = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
    if (act) {
      event.preventDefault();
      act();
    }
  });
}
