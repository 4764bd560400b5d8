// Sets the theme and the language before the first paint, so that the page does not flash. This is
// a separate file because the content security policy allows no inline scripts.
// src/shared/theme.svelte.ts and i18n.svelte.ts use the same storage keys.
try {
  const root = document.documentElement;
  const theme = localStorage.getItem('tidemark.theme');
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
  const language = localStorage.getItem('tidemark.language') || navigator.language;
  root.lang = language.startsWith('ja') ? 'ja' : 'en';
} catch {
  // Storage may be blocked; the page then keeps its defaults.
}
