// Where the rows of a list have just come to be. Everything is pure.

/** Remembers for a while what came to another place. */
export class Places {
  /** @type {Map<string, number>} when each came to where it is */
  #moved = new Map();
  #newest = -Infinity;

  /** @param {number} lasts how long a move is remembered */
  constructor(lasts) {
    this.lasts = lasts;
  }

  /**
   * Takes in that the list was put in another order, or in the same: what moved a moment ago
   * has still moved then.
   * @param {string[]} before
   * @param {string[]} after
   * @param {number} now
   */
  arranged(before, after, now) {
    if (now - this.#newest >= this.lasts) {
      this.#moved.clear();
    }
    after.forEach((name, i) => {
      if (before[i] !== name) {
        this.#moved.set(name, now);
        this.#newest = now;
      }
    });
  }

  /** When it came to where it is, -Infinity if that is long ago. @param {string} name */
  movedAt(name) {
    return this.#moved.get(name) ?? -Infinity;
  }
}
