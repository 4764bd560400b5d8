// Builds and runs the Rust tests of `make test` and `make verify`, and prints the seconds of each module.
//
//   node scripts/run-tests.mjs [--system game] [--all-features] [--package NAME]... [--filter MODULE]...
//
// --system      only the tests of one system. They are found by their paths: the crates whose folder
//               names the system, and the modules of that name in `domain` and in `tests/tests`.
// --package     only the tests of these packages; without it, of all that `make test` runs
// --filter      only tests whose names contain one of these
// --loads       only the tests whose load is larger in `make verify`: the modules that call `tests::load`
// --skip        no test whose name contains this
// --all-features  with the parts that `make run` leaves out
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, relative, sep } from "node:path";
import { cpus } from "node:os";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
    options: {
        system: { type: "string" },
        package: { type: "string", multiple: true },
        filter: { type: "string", multiple: true, default: [] },
        skip: { type: "string", multiple: true, default: [] },
        loads: { type: "boolean", default: false },
        "all-features": { type: "boolean", default: false },
        threads: { type: "string", default: String(2 * cpus().length) },
    },
});

// Only `make verify` tests these: they need a PostgreSQL, or minutes.
const VERIFY_ONLY = ["tidemark-migrate", "okusuri-migrate", "migration-tests", "bench", "soak"];
// Only `make verify` runs these modules: they need the AWS tools, or a mount namespace.
const VERIFY_MODULES = ["all_systems::aws_tools::", "all_systems::deploy::", "all_systems::full_disk::"];
// The modules of the journeys through the running stack.
const JOURNEYS = ["journey::", "journeys::"];
// Selected in each build, so that the crates from outside have the same features in all of them.
const BESIDE = ["tests", "tidemark-local", "bench", "soak", "fuzz"];

const metadata = JSON.parse(
    spawnSync("cargo", ["metadata", "--format-version=1", "--no-deps", "--locked"], { maxBuffer: 2 ** 28 }).stdout,
);
const root = metadata.workspace_root;
const folders = new Map(metadata.packages.map((one) => [one.name, relative(root, dirname(one.manifest_path))]));

/** Whether a folder is about the system: crates/store/game-store, crates/functions/game/ws-connect, crates/game-room. */
function isOf(folder, system) {
    return folder.split(sep).some((part) => part === system || part.startsWith(`${system}-`));
}

function chosen() {
    if (options.package) return options.package;
    const tested = metadata.packages.filter((one) => one.targets.some((target) => target.test && !target.kind.includes("bin")));
    const all = tested.map((one) => one.name).filter((name) => !VERIFY_ONLY.includes(name));
    if (!options.system) return all;
    const own = all.filter((name) => !folders.get(name).startsWith("crates/tools") && isOf(folders.get(name), options.system));
    if (own.length === 0) fail(`There is no system ${options.system}.`);
    return [...own, "domain", "tests"];
}

/** Filters of the tests of a package: `domain` and `tests` have a module for each system. */
function filters(name) {
    const own = options.system && ["domain", "tests"].includes(name) ? [`${options.system}::`] : [];
    return [...own, ...options.filter, ...(options.loads && name === "tests" ? loads() : [])];
}

/** The modules of `tests` that call `tests::load`, by their paths: clicks/recount/traffic.rs is clicks::recount::traffic. */
function loads() {
    const folder = `${root}/tests/tests`;
    const files = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith(".rs"));
    const found = files.filter((path) => readFileSync(`${folder}/${path}`, "utf8").includes("tests::load("));
    if (found.length === 0) fail("No module calls tests::load.");
    return found.map((path) => `${path.replace(/(\/mod)?\.rs$/, "").replaceAll(sep, "::")}::`);
}

function fail(why) {
    console.error(why);
    process.exit(1);
}

/** Builds the tests, and returns the programs: the package, the kind, and the path of each. */
async function build(packages) {
    const selected = [...new Set([...packages, ...BESIDE])].flatMap((name) => ["--package", name]);
    const features = options["all-features"] ? [] : ["--no-default-features"];
    const args = ["test", "--locked", "--no-run", "--message-format=json-render-diagnostics", ...features, ...selected];
    const targets = metadata.packages.filter((one) => packages.includes(one.name)).flatMap((one) => one.targets);
    const tests = targets.filter((one) => one.kind.includes("test")).flatMap((one) => ["--test", one.name]);
    const bench = packages.includes("bench") ? ["--bin", "bench"] : [];
    const cargo = spawn("cargo", [...args, "--lib", ...bench, ...tests], { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    cargo.stdout.setEncoding("utf8").on("data", (part) => (text += part));
    const code = await new Promise((resolve) => cargo.on("close", resolve));
    if (code !== 0) fail("The tests do not build.");
    const built = text.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
    const names = new Map(metadata.packages.map((one) => [one.id, one.name]));
    return built
        .filter((one) => one.reason === "compiler-artifact" && one.profile.test && one.executable)
        .map((one) => ({ name: names.get(one.package_id), target: one.target.name, path: one.executable }))
        .filter((one) => packages.includes(one.name))
        .sort((a, b) => `${a.name} ${a.target}`.localeCompare(`${b.name} ${b.target}`));
}

const seconds = new Map();
let [passed, failed, ignored] = [0, 0, 0];

/** The arguments that select the tests of a program. */
function selection(name) {
    const skipped = options.package ? options.skip : [...VERIFY_MODULES, ...options.skip];
    return [...filters(name), ...skipped.flatMap((one) => ["--skip", one])];
}

/** The selected tests of a program that are journeys. */
function journeysOf({ name, path }) {
    const list = spawnSync(path, [...selection(name), "--list", "--format=terse"], { encoding: "utf8" });
    if (list.status !== 0) fail(`${name} does not list its tests: ${list.error ?? list.stderr}`);
    const names = list.stdout.split("\n").map((line) => line.replace(/: test$/, ""));
    return names.filter((test) => JOURNEYS.some((one) => test.includes(one)));
}

/** Runs one program or a part of it, prints its lines, and adds the time of each test to its module. */
async function run({ name, target, path }, { part = "", args = selection(name), threads = options.threads, print = console.log } = {}) {
    print(`\n     Running ${name} ${target}${part}`);
    // The time of each test is an option of nightly. This variable is for the test's program only: cargo and
    // the compiler would build other crates with it.
    const folder = `${root}/${folders.get(name)}`;
    const cargo = { CARGO_PKG_NAME: name, CARGO_MANIFEST_DIR: folder };
    const environment = { ...process.env, ...cargo, RUSTC_BOOTSTRAP: "1", RUST_TEST_THREADS: threads };
    const program = spawn(path, [...args, "-Zunstable-options", "--report-time"], { cwd: folder, env: environment, stdio: ["ignore", "pipe", "inherit"] });
    let rest = "";
    program.stdout.setEncoding("utf8").on("data", (text) => {
        const whole = (rest + text).split("\n");
        rest = whole.pop();
        for (const line of whole) read(name, target, line, print);
    });
    const code = await new Promise((resolve) => program.on("close", (code, signal) => resolve(code ?? signal)));
    if (rest) read(name, target, rest, print);
    if (code !== 0) failures.push(`${name} ${target}: ended with ${code}`);
}

const failures = [];

function read(name, target, line, print) {
    const test = /^test (?<path>\S+)(?: - should panic)? \.\.\. (?<outcome>ok|FAILED|ignored).*?(?:<(?<time>[\d.]+)s>)?$/.exec(line);
    if (test) {
        const { path, outcome, time } = test.groups;
        if (outcome === "ok") passed += 1;
        else if (outcome === "ignored") ignored += 1;
        else {
            failed += 1;
            failures.push(`${name} ${path}`);
        }
        const parts = path.split("::");
        // The suite's modules are systems with parts; of any other program, the program is the module.
        const module = target === "suite" ? parts.slice(0, 2).join("::") : `${name} ${target === name.replaceAll("-", "_") ? "" : target}`.trim();
        seconds.set(module, (seconds.get(module) ?? 0) + Number(time ?? 0));
        if (outcome === "ok" && Number(time) < 1) return;
    }
    if (/^(running \d+ tests?|)$/.test(line)) return;
    print(line);
}

const packages = chosen();
const began = Date.now();
const programs = await build(packages);
const ready = Date.now();
// Journeys mostly wait: they run beside everything else, and are printed after it.
const suite = programs.find(({ target }) => target === "suite");
const journeys = suite ? journeysOf(suite) : [];
const lines = [];
const beside = journeys.length > 0 && run(suite, { part: ": journeys", args: ["--exact", ...journeys], threads: "2", print: (line) => lines.push(line) });
const others = suite && { part: ": without journeys", args: [...selection(suite.name), ...JOURNEYS.flatMap((one) => ["--skip", one])] };
for (const program of programs) await run(program, program === suite ? others : {});
await beside;
if (lines.length > 0) console.log(lines.join("\n"));
console.log("\nSeconds of the tests by module, added up; several run at a time:");
for (const [module, time] of [...seconds].sort((a, b) => b[1] - a[1])) if (time >= 1) console.log(`${time.toFixed(0).padStart(6)}  ${module}`);
console.log(`\nBuilt in ${Math.round((ready - began) / 1000)} s, run in ${Math.round((Date.now() - ready) / 1000)} s.`);
for (const failure of failures) console.log(`FAILED: ${failure}`);
console.log(`${passed} passed, ${failed} failed, ${ignored} skipped`);
process.exit(failures.length === 0 ? 0 : 1);
