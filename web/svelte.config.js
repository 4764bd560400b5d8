/** The Svelte compiler, with runes in all components, so that reactivity is explicit. */
export default {
  compilerOptions: { runes: true },
};
