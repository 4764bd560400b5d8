// Runs before the first paint, so that a chosen theme or language never flashes. A file of its own, because a strict
// content security policy allows no inline script. The keys are those of src/shared/theme.svelte.ts and i18n.svelte.ts.
try {
  const root = document.documentElement;
  const theme = localStorage.getItem('tidemark.theme');
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
  const language = localStorage.getItem('tidemark.language') || navigator.language;
  root.lang = language.startsWith('ja') ? 'ja' : 'en';
} catch {
  // Storage may be forbidden; the defaults of the page then stand.
}
