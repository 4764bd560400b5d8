// An application that writes and reads one user's logs through the client until its input ends. It
// prints a line for each answered write, and at the end the possible values of each row.
// node traffic.mjs <the built client> <user> <token> <address>...

const [, , client, user, token, ...addresses] = process.argv;
const { Migration, MigrationError } = await import(client);
const migrations = addresses.map((address) => new Migration(address, { token, attempts: 4 }));

let stopped = false;
process.stdin.on('end', () => (stopped = true)).resume();

/** The possible values of each row: several after a write without an answer. */
const known = new Map();
const day = (n) => `2029-05-1${n}`;

for (let tick = 0; !stopped; tick++) {
  const migration = migrations[tick % migrations.length];
  const n = Math.floor(Math.random() * 4);
  const id = 5_000_000 + n;
  const value = Math.random() < 0.25 ? null : Math.random() < 0.5;
  try {
    if (value === null) {
      await migration.delete('medication_logs', { id, user_id: user });
    } else {
      const updated_at = new Date(Date.UTC(2030, 0, 1) + tick * 1000).toISOString();
      const row = {
        id,
        user_id: user,
        has_bleeding: value,
        created_at: `${day(n)}T03:00:00Z`,
        updated_at,
        deleted_at: null,
      };
      await migration.put('medication_logs', row);
    }
    known.set(n, [value]);
    console.log('answered');
  } catch (error) {
    if (!(error instanceof MigrationError) || error.status === 422) throw error;
    known.set(n, [...(known.get(n) ?? [null]), value]);
  }
  try {
    const items = await migration.items(user, 'medication_log');
    for (const [n, values] of known) {
      const item = items.find((item) => item.Date.S === day(n));
      const read = item?.HasBleeding.BOOL ?? null;
      if (!values.includes(read)) throw new Error(`${day(n)} is ${read}, and was answered ${values}`);
    }
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
  }
}
console.log(JSON.stringify([...known]));
