/** Svelte's compiler: runes everywhere, so that reactivity is always written down. */
export default {
  compilerOptions: { runes: true },
};
