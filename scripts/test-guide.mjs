// Does what docs/rollup.md says, in an empty folder outside of the workspace: makes the project,
// writes the page's files, runs its commands, and compares the numbers. The crate beside the project
// is the package that would be published. Its example runs at the end.
//
//   node scripts/test-guide.mjs [PAGE]
//
// The page decides by its form:
//   `path`: before a block     writes the block to the file; "At the end of" appends it
//   sh                         runs the block, one after another, in one shell's folder
//   json after an sh           what the last command must print within a minute
// What differs from a reader: versions come from the workspace's lock file, artifacts are shared
// with the workspace, the stack is the one that is built already and has free ports, and `aws` is
// curl. `make binaries` must have built the stack.
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";

const root = resolve(import.meta.dirname, "..");
const page = readFileSync(process.argv[2] ?? join(root, "docs/rollup.md"), "utf8");
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
const work = mkdtempSync(join(tmpdir(), "guide-"));
const began = Date.now();
/** The address of DynamoDB on the page, and that of this run. */
const ON_PAGE = "http://127.0.0.1:8000";
let folder = work;
let endpoint = ON_PAGE;
let stack;

// A reader has the repository beside the project.
const crate = join(work, "tidemark/crates/tidemark-rollup");
mkdirSync(crate, { recursive: true });
mkdirSync(join(work, "bin"));
writeFileSync(
    join(work, "bin/aws"),
    `#!/usr/bin/env bash
# aws dynamodb <operation> --name value ...
set -euo pipefail
operation=$(sed -E 's/(^|-)([a-z])/\\U\\2/g' <<<"$2")
shift 2
while [ $# -gt 0 ]; do
    name=$(sed -E 's/^--//; s/(^|-)([a-z])/\\U\\2/g' <<<"$1")
    body="\${body:+$body, }\\"$name\\": \\"\${2//\\"/\\\\\\"}\\""
    shift 2
done
curl --silent --show-error --fail-with-body --aws-sigv4 "aws:amz:$AWS_REGION:dynamodb" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \\
    -H "X-Amz-Target: DynamoDB_20120810.$operation" -H "Content-Type: application/x-amz-json-1.0" -d "{$body}" "$AWS_ENDPOINT_URL"
`,
    { mode: 0o755 },
);
const env = {
    ...process.env,
    PATH: `${work}/bin:${process.env.PATH}`,
    CARGO_NET_OFFLINE: "true",
    // As the workspace compiles its dependencies, so that some are shared.
    CARGO_PROFILE_DEV_DEBUG: "0",
    CARGO_PROFILE_DEV_LTO: "off",
    CARGO_PROFILE_DEV_DEBUG_ASSERTIONS: "false",
    TIDEMARK_PORT: "0",
    TIDEMARK_DYNAMODB_PORT: "0",
    TIDEMARK_S3_PORT: "0",
};

function stop() {
    stack?.kill();
    rmSync(work, { recursive: true, force: true });
}
process.on("exit", stop);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

function fail(why) {
    console.error(`docs/rollup.md: ${why}`);
    process.exit(1);
}

/** Runs commands. What they export and the folder that they change to stay for later ones. */
function run(script) {
    const kept = join(work, "environment");
    // The shell keeps its variables in a file; the first block has none.
    const text = `touch ${kept}; source ${kept}; set -euo pipefail\n${script}\npwd > ${work}/folder; { export -p; declare -f; } > ${kept}`;
    const ran = spawnSync("bash", ["-c", text], { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
    process.stdout.write(ran.stdout);
    if (ran.status !== 0) fail(`this ended with ${ran.status ?? ran.signal}:\n${script}`);
    const before = folder;
    folder = readFileSync(join(work, "folder"), "utf8").trim();
    if (folder !== before && folder !== work) {
        symlinkSync(target, join(folder, "target"));
        copyFileSync(join(root, "Cargo.lock"), join(folder, "Cargo.lock"));
    }
    return ran.stdout;
}

/** Starts the stack with the page's flags, and waits until it is ready. */
async function start(flags) {
    stack = spawn(join(target, "debug/tidemark-local"), flags, { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    await new Promise((ready) => {
        stack.stdout.setEncoding("utf8").on("data", (part) => {
            text += part;
            if (/^ready /m.test(text)) ready();
        });
        stack.on("exit", (code) => fail(`the stack ended with ${code}:\n${text}`));
    });
    stack.removeAllListeners("exit");
    endpoint = /^DynamoDB +(\S+)/m.exec(text)[1];
}

run(`cd ${root}
cargo package --locked --package tidemark-rollup --no-verify --allow-dirty --quiet
tar -xzf ${target}/package/tidemark-rollup-*.crate -C ${crate} --strip-components 1
cd ${crate}
ls README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT examples/sensors.rs
if grep -E 'tidemark-engine|"=[0-9]' Cargo.toml; then echo "The package needs an unpublished crate, or pins one."; exit 1; fi
cd ${work}`);

let previous = "";
let isCompared = false;
for (const [, before, language, code] of page.matchAll(/([^\n]*)\n\n```(\w*)\n(.*?)^```$/gms)) {
    const path = /`([^` ]+)`[^`]*:$/.exec(before)?.[1];
    if (path && language !== "sh") {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        const write = before.startsWith("At the end of") ? appendFileSync : writeFileSync;
        write(join(folder, path), code);
    } else if (language === "json") {
        const expected = JSON.parse(code);
        const deadline = Date.now() + 300_000;
        for (let item; !isDeepStrictEqual(item, expected); ) {
            if (Date.now() > deadline) fail(`expected ${JSON.stringify(expected)}, but it is ${JSON.stringify(item)}`);
            await new Promise((later) => setTimeout(later, 200));
            item = JSON.parse(run(previous) || "{}");
        }
        isCompared = true;
    } else if (language === "sh") {
        if (code.startsWith("sam ")) continue;
        const commands = code.replaceAll(ON_PAGE, endpoint);
        const [, build, flags] = /^(.*?)cargo run [^\n]*--bin tidemark-local -- (.*)$/s.exec(commands) ?? [null, commands, null];
        run(build);
        if (flags) await start(flags.replaceAll("\\\n", " ").trim().split(/\s+/));
        previous = commands.trim().split("\n").at(-1);
    } else {
        fail(`a block that is neither a file nor commands:\n${code}`);
    }
}
if (!stack || !isCompared) fail("the stack was not started, or no number compared");
stack.kill();
// The example of the package has the dependencies of the project.
run(`cp -r ${crate}/examples .
cargo build --quiet --all-targets
target/debug/examples/sensors 2`);
console.log(`The guide is right: ${Math.round((Date.now() - began) / 1000)} s.`);
process.exit(0);
