class RunTimeline extends HTMLElement {}
customElements.define('run-timeline', RunTimeline);
export { RunTimeline };
