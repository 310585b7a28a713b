// Reading the escape sequences of terminals. Only colours and weights are taken; what
// moves a cursor or sets a title is left out. Everything is pure.

/**
 * A stretch of text that looks the same.
 * @typedef {{text: string, classes: string}} Piece
 */

// CSI, OSC (ended by BEL or ST), and the two-character sequences.
// eslint-disable-next-line no-control-regex
const escapes = /\x1b(?:\[([0-9;:]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g;
// Control characters that show nothing, or would show as boxes.
// eslint-disable-next-line no-control-regex
const invisible = /[\x00-\x08\x0b-\x1f\x7f]/g;

/** What is set, in the order of the class names. */
class Style {
  fg = '';
  bg = '';
  /** @type {Set<string>} */
  marks = new Set();

  get classes() {
    return [this.fg, this.bg, ...this.marks].filter(Boolean).join(' ');
  }

  /** @param {string} parameters of SGR */
  set(parameters) {
    const codes = parameters.split(/[;:]/).map(Number);
    for (let i = 0; i < codes.length; i++) {
      const code = codes[i] ?? 0;
      if (code === 38 || code === 48) {
        const [color, used] = extended(codes.slice(i + 1));
        i += used;
        if (code === 38) {
          this.fg = color === null ? this.fg : `fg-${color}`;
        } else {
          this.bg = color === null ? this.bg : `bg-${color}`;
        }
      } else {
        this.#one(code);
      }
    }
  }

  /** @param {number} code */
  #one(code) {
    if (code === 0) {
      this.fg = this.bg = '';
      this.marks.clear();
    } else if (code in marks) {
      this.marks.add(/** @type {string} */ (marks[code]));
    } else if (code === 22) {
      this.marks.delete('bold');
      this.marks.delete('faint-text');
    } else if (code >= 23 && code <= 29) {
      this.marks.delete(marks[code - 20] ?? '');
    } else if (code >= 30 && code <= 37) {
      this.fg = `fg-${code - 30}`;
    } else if (code >= 90 && code <= 97) {
      this.fg = `fg-${code - 82}`;
    } else if (code === 39) {
      this.fg = '';
    } else if (code >= 40 && code <= 47) {
      this.bg = `bg-${code - 40}`;
    } else if (code >= 100 && code <= 107) {
      this.bg = `bg-${code - 92}`;
    } else if (code === 49) {
      this.bg = '';
    }
  }
}

/** @type {Record<number, string>} */
const marks = { 1: 'bold', 2: 'faint-text', 3: 'italic', 4: 'underline', 7: 'inverse', 9: 'strike' };

/**
 * A colour of 256 or of 16 million, as the nearest of the sixteen: these are made to
 * read well in each theme, which a job can't know.
 * @param {number[]} codes what follows 38 or 48
 * @returns {[number|null, number]} the colour, and how many codes it took
 */
function extended(codes) {
  if (codes[0] === 5) {
    const n = codes[1] ?? 0;
    if (n < 16) {
      return [n, 2];
    }
    if (n > 231) {
      const grey = 8 + 10 * (n - 232);
      return [nearest(grey, grey, grey), 2];
    }
    const level = (/** @type {number} */ v) => (v === 0 ? 0 : 55 + 40 * v);
    const c = n - 16;
    return [nearest(level(Math.floor(c / 36)), level(Math.floor(c / 6) % 6), level(c % 6)), 2];
  }
  if (codes[0] === 2) {
    return [nearest(codes[1] ?? 0, codes[2] ?? 0, codes[3] ?? 0), 4];
  }
  return [null, 0];
}

/**
 * @param {number} r
 * @param {number} g
 * @param {number} b
 */
function nearest(r, g, b) {
  const high = Math.max(r, g, b);
  const low = Math.min(r, g, b);
  if (high - low < 40) {
    return high < 60 ? 0 : high < 140 ? 8 : high < 210 ? 7 : 15;
  }
  const middle = (high + low) / 2;
  return (r > middle ? 1 : 0) + (g > middle ? 2 : 0) + (b > middle ? 4 : 0) + (high > 200 ? 8 : 0);
}

/** What a terminal would still show of a line in which parts were overwritten. */
function overwritten(/** @type {string} */ line) {
  const kept = line.replace(/\r+$/, '');
  const at = kept.lastIndexOf('\r');
  return at < 0 ? kept : kept.slice(at + 1);
}

/**
 * Takes a line apart.
 * @param {string} line
 * @returns {Piece[]}
 */
export function pieces(line) {
  const style = new Style();
  /** @type {Piece[]} */
  const list = [];
  const add = (/** @type {string} */ text) => {
    const clean = text.replace(invisible, '');
    if (clean) {
      list.push({ text: clean, classes: style.classes });
    }
  };
  const text = overwritten(line);
  let from = 0;
  for (const match of text.matchAll(escapes)) {
    add(text.slice(from, match.index));
    if (match[2] === 'm') {
      style.set(match[1] ?? '');
    }
    from = match.index + match[0].length;
  }
  add(text.slice(from));
  return list;
}

/**
 * A line without escape sequences.
 * @param {string} line
 */
export function plain(line) {
  return overwritten(line).replace(escapes, '').replace(invisible, '');
}
