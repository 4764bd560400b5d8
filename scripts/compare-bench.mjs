// Compares the counts and costs of a run of the benchmark with docs/bench.json:
//
//   node scripts/compare-bench.mjs RUN.json [update]
//
// A row is exact if it was measured once and counts units, requests or money. A short run measures
// everything once, so a row that docs/bench.json has from several runs is not exact either. `update`
// writes the exact figures of the run into docs/bench.json and leaves its times as they are.
import { readFileSync, writeFileSync } from "node:fs";

const EXACT = new Set(["", "WRU", "RRU", "$", "min", "clicks/s", "activities/s"]);
const DOCS = "docs/bench.json";
const [run, update] = process.argv.slice(2);

const isExact = (row) => row.runs === 1 && EXACT.has(row.unit);
const name = (row) => `${row.section}: ${row.what}`;
const docs = JSON.parse(readFileSync(DOCS, "utf8"));
const timed = new Set(docs.filter((row) => !isExact(row)).map(name));
const exact = JSON.parse(readFileSync(run, "utf8")).filter((row) => isExact(row) && !timed.has(name(row)));
const ours = new Map(exact.map((row) => [name(row), row]));

const wrong = [];
for (const row of docs.filter(isExact)) {
    const found = ours.get(name(row));
    if (!found) wrong.push(`${name(row)}: the run has no such row`);
    else if (Math.abs(found.value - row.value) > 1e-9 * Math.abs(row.value)) wrong.push(`${name(row)}: ${found.value} ${row.unit}, and ${DOCS} says ${row.value}`);
    ours.delete(name(row));
    if (found && update === "update") Object.assign(row, found);
}
for (const key of ours.keys()) wrong.push(`${key}: ${DOCS} has no such row`);
if (update === "update") {
    // A new row comes behind the one before it in the run.
    exact.forEach((row, place) => {
        if (!ours.has(name(row))) return;
        const before = place === 0 ? -1 : docs.findIndex((other) => name(other) === name(exact[place - 1]));
        docs.splice(before + 1, 0, row);
    });
    writeFileSync(DOCS, `${JSON.stringify(docs, null, 2)}\n`);
    console.log(`${DOCS} has the counts and costs of this run.`);
} else {
    for (const line of wrong) console.error(line);
    if (wrong.length > 0) {
        console.error(`${wrong.length} counts or costs differ. If that is wanted: scripts/bench-short update`);
        process.exit(1);
    }
    console.log(`All counts and costs are those of ${DOCS}.`);
}
