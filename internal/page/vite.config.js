import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// What is built depends on nothing but the sources and the lock file: names of files are
// made of what is in them, and nothing is inlined that the page's policy would refuse.
export default defineConfig({
  plugins: [svelte()],
  build: { outDir: 'dist', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0, modulePreload: false, reportCompressedSize: false },
});
