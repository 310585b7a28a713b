// What the tabs of a job have in common: each asks for one thing whenever its attribute
// job is set, and draws the newest answer.

/** @import {Child} from './dom.js' */
import { h, replace } from './dom.js';

/**
 * @template T what is asked for
 */
export class JobPart extends HTMLElement {
  static observedAttributes = ['job'];

  #job = '';
  #asked = 0;
  #ask;
  #draw;

  /**
   * @param {(job: string) => Promise<T>} ask
   * @param {(answer: T) => Child[]} draw
   */
  constructor(ask, draw) {
    super();
    this.#ask = ask;
    this.#draw = draw;
  }

  attributeChangedCallback() {
    const job = this.getAttribute('job') ?? '';
    if (this.#job !== job) {
      this.#job = job;
      replace(this, h('p', { class: 'dim' }, 'Loading …'));
    }
    if (job) {
      void this.#load();
    }
  }

  async #load() {
    const asked = ++this.#asked;
    /** @type {Child[]} */
    let content;
    try {
      content = this.#draw(await this.#ask(this.#job));
    } catch (error) {
      content = [h('p', { class: 'is-warning' }, `This can't be shown: ${error instanceof Error ? error.message : error}`)];
    }
    if (asked === this.#asked) {
      replace(this, ...content);
    }
  }
}
