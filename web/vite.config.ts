// How the page is built: three files with fixed names that lie beside tacho.wasm and work from any address, also from a
// disk. So there are no hashes, no modules (a page from a disk may not load them) and nothing that is fetched but tacho.wasm.
import { defineConfig, type Plugin } from "vite";

/** The script as index.html has it, but for the module that it no longer is: at the end of the body, so that the document is there. */
const classicScript: Plugin = {
  name: "classic-script",
  enforce: "post",
  transformIndexHtml: (html) =>
    html
      .replace(/\s*<script type="module"[^>]*><\/script>/, "")
      .replace(/<link rel="stylesheet"[^>]*>/, '<link rel="stylesheet" href="./page.css">')
      .replace("</body>", '<script src="./page.js"></script>\n</body>'),
};

const banner = "/*! Tacho's timeline. Apache-2.0. Holds fzstd: MIT, Copyright (c) 2020 Arjun Barrett. */";

export default defineConfig({
  base: "./",
  resolve: { preserveSymlinks: true },
  plugins: [classicScript],
  worker: { format: "iife" },
  build: {
    target: ["chrome94", "firefox113", "safari16.4"],
    modulePreload: false,
    assetsInlineLimit: 1 << 20,
    cssCodeSplit: false,
    emptyOutDir: false,
    rollupOptions: {
      output: {
        format: "iife",
        banner,
        inlineDynamicImports: true,
        entryFileNames: "page.js",
        assetFileNames: "page[extname]",
      },
    },
  },
});
