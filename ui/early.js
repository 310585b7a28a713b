// Runs before the first paint, so that the page never shows in the wrong theme. The
// rest of it is theme.js.
(function () {
  try {
    const theme = JSON.parse(localStorage.getItem('yacron2.theme') || '"system"');
    // Who asks the system for more contrast gets it here, too.
    document.documentElement.dataset['theme'] = theme === 'system' && matchMedia('(prefers-contrast: more)').matches ? 'contrast' : theme;
  } catch {
    document.documentElement.dataset['theme'] = 'system';
  }
})();
