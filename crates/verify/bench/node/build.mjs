// Bundles each function into one executable file, as small as esbuild makes it: node build.mjs <folder>
import { chmodSync, mkdirSync } from "node:fs";
import { build } from "esbuild";

const folder = process.argv[2];
if (!folder) throw new Error("usage: node build.mjs <folder>");
mkdirSync(folder, { recursive: true });
for (const name of ["click-writer", "stats-aggregator", "stats-reader"]) {
  const outfile = `${folder}/${name}`;
  await build({
    stdin: {
      contents: `import { run } from "./src/bootstrap.mjs"; import { handle, init } from "./src/${name}.mjs"; run(init, handle);`,
      resolveDir: import.meta.dirname,
    },
    outfile,
    bundle: true,
    minify: true,
    platform: "node",
    target: "node20",
    // The SDK's ES modules: esbuild leaves out what nobody calls, which it cannot with CommonJS.
    mainFields: ["module", "main"],
    // A file without an extension is CommonJS to Node.
    format: "cjs",
    // The interpreter by its path: `/usr/bin/env` would add a process to each cold start. Nor is the SDK's advice about
    // versions of Node.js to cost the twins any time.
    banner: { js: `#!${process.execPath}\nprocess.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = "true";` },
    logLevel: "warning",
  });
  chmodSync(outfile, 0o755);
}
