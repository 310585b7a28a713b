// Asks for the token of the API. It is kept for this tab alone, and sent to nobody but
// the agent that the page came from.

import { setToken, token } from './api.js';
import { open } from './dialog.js';
import { button, h } from './dom.js';
import { store } from './store.js';

/** @type {HTMLDialogElement|null} */
let shown = null;

/** Opens the dialog, once. */
export function askToken() {
  if (shown?.open) {
    return;
  }
  const refused = store.link === 'locked' && token() !== '';
  const input = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', autofocus: true, 'data-testid': 'token-input' });
  shown = open('A token is needed', 'token-dialog', [
    h('p', { class: 'dim' }, store.link === 'locked'
      ? 'This agent answers only with one of the tokens of its configuration (web.tokens or web.authToken).'
      : 'The token goes with every request of this tab, and is forgotten when the tab is closed.'),
    refused ? h('p', { class: 'error', role: 'alert' }, 'The agent did not accept the last one.') : null,
    h('label', {}, 'Token', input),
    token() ? button('Forget the token', () => {
      setToken('');
      shown?.close();
      store.unlock();
    }) : null,
  ], 'Use it', () => {
    setToken(input.value.trim());
    store.unlock();
    return true;
  });
}

/** Asks whenever the agent wants a token. */
export function startTokens() {
  store.on('link', () => {
    if (store.link === 'locked') {
      askToken();
    }
  });
  document.addEventListener('locked', () => askToken());
}
