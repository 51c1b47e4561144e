// One script and one style, of fixed names: the page also opens from a file, where modules do not load.
export default {
  base: './',
  publicDir: false,
  build: {
    outDir: '../internal/view/app', emptyOutDir: false, modulePreload: false, cssCodeSplit: false, target: 'es2022',
    rollupOptions: { output: { format: 'iife', entryFileNames: 'page.js', assetFileNames: 'page.[ext]', inlineDynamicImports: true } },
  },
  plugins: [{
    name: 'classic script',
    transformIndexHtml: { order: 'post', handler: (html) => html.replace(/<script type="module" crossorigin/, '<script defer').replace(/ crossorigin/g, '') },
  }],
}
