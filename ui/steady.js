// Clicks that were aimed at something else: what they meet has only just moved there. At
// three in the morning that is another job's Run button.

import { toast } from './toasts.js';

/** How long, in milliseconds, a person takes to see that something moved and to stop the hand. */
export const reaction = 400;

/**
 * Stops a click that cannot have been meant for what is there since a moment. Keys are let
 * through: what has the focus keeps it wherever it moves.
 * @param {MouseEvent} event on its way down, before those who act upon it
 * @param {number} movedAt when it moved, on the clock of events
 */
export function holdStray(event, movedAt) {
  if (event.detail > 0 && event.timeStamp - movedAt < reaction) {
    event.preventDefault();
    event.stopPropagation();
    toast('What was under the pointer has just moved, so nothing was done. Click again.');
  }
}
