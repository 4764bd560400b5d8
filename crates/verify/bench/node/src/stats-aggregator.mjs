// Counts a batch exactly, by the rules of docs/systems/clicks.md.
// What the bench never sends is left out: batches of more days than one transaction holds, and records that cannot be read.
import { createHash } from "node:crypto";
import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { BatchGetCommand, GetCommand, TransactWriteCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { TOTAL, TableName, client, connect } from "./table.mjs";

const CHECKPOINT_TRIES_MAX = 5;
const REQUESTS_MAX = 32;
const BATCH_GET_KEYS_MAX = 100;
const KNOWN_MARKERS_MAX = 50_000;
const CHECKPOINT_RETENTION_S = 30 * 24 * 60 * 60;

// First-seen records that are stored, by "<user> <month>" and slot. A stored one never changes.
const known = new Map();

export const init = () => connect();

export async function handle(event) {
  const { Records = [], shardId, eventSourceARN, state = null } = event;
  if (!shardId || !eventSourceARN) throw new Error("the event has no shardId");
  const shard = {
    id: createHash("sha256").update(`${eventSourceARN}\n${shardId}`).digest("hex").slice(0, 16),
    key: { userId: `ROLLUP#CHECKPOINT#${eventSourceARN}`, createDateTime: shardId },
  };
  const clicks = Records.flatMap(read).sort((a, b) => (a.number < b.number ? -1 : 1));
  const counted = clicks.length > 0 ? await count(shard, clicks) : 0;
  console.log(JSON.stringify({ shard_id: shardId, records: Records.length, clicks: counted }));
  return { batchItemFailures: [], state };
}

function read({ eventName, dynamodb }) {
  const image = dynamodb.NewImage;
  if (eventName !== "INSERT" || !image?.recordSort?.S?.startsWith("CLICK#")) return [];
  const user = image.userId.S;
  const time = image.createDateTime.S;
  const day = time.slice(0, 10);
  const clickCount = image.clickCount === undefined ? 1 : Number(image.clickCount.N);
  const isReadable =
    time[10] === "T" &&
    Number.isInteger(clickCount) &&
    clickCount > 0 &&
    image.dateKey.S.startsWith(`DATE#${day}`) &&
    image.recordSort.S === `CLICK#${time}#${user}`;
  if (!isReadable) throw new Error("a record cannot be read");
  return [{ number: dynamodb.SequenceNumber.padStart(40, "0"), user, day, clickCount }];
}

async function count(shard, all) {
  for (let attempt = 0; attempt < CHECKPOINT_TRIES_MAX; attempt++) {
    const { Item } = await client.send(new GetCommand({ TableName, Key: shard.key, ConsistentRead: true }));
    const checkpoint = Item?.sequenceNumber;
    const clicks = all.filter(({ number }) => checkpoint === undefined || number > checkpoint);
    if (clicks.length === 0) return 0;
    const visits = visitsOf(clicks);
    const news = await recordFirstSeen(shard, checkpoint, visits);
    try {
      return await commit(shard, checkpoint, clicks, news);
    } catch (error) {
      const moved = error.CancellationReasons?.some(({ Code }) => Code === "ConditionalCheckFailed");
      if (!(error instanceof TransactionCanceledException) || !moved) throw error;
    }
  }
  throw new Error("the checkpoint moved under every try");
}

// Each user's month: the first record of it and of each of its days.
function visitsOf(clicks) {
  const visits = new Map();
  for (const { number, user, day } of clicks) {
    const month = day.slice(0, 7);
    const id = `${user} ${month}`;
    let visit = visits.get(id);
    if (!visit) visits.set(id, (visit = { id, user, month, slots: new Map([["m", number]]) }));
    const slot = `d${day.slice(8)}`;
    if (!visit.slots.has(slot)) visit.slots.set(slot, number);
  }
  return [...visits.values()];
}

// Who is new, by day and by month.
async function recordFirstSeen(shard, checkpoint, visits) {
  await readUnknown(visits.filter(({ id }) => !known.has(id)));
  const isUncounted = (firstSeen) => {
    const [owner, number] = firstSeen.split("#");
    return owner === shard.id && (checkpoint === undefined || number > checkpoint);
  };
  const news = new Map();
  const queue = visits.values();
  const work = async () => {
    for (const { id, user, month, slots } of queue) {
      const open = [...slots].filter(([slot]) => {
        const firstSeen = known.get(id)?.[slot];
        return firstSeen === undefined || isUncounted(firstSeen);
      });
      if (open.length === 0) continue;
      const { Attributes } = await client.send(
        new UpdateCommand({
          TableName,
          Key: { userId: `ROLLUP#FIRSTSEEN#${user}`, createDateTime: month },
          UpdateExpression: `SET ${open.map(([slot]) => `${slot} = if_not_exists(${slot}, :${slot})`).join(", ")}`,
          ExpressionAttributeValues: Object.fromEntries(open.map(([slot, number]) => [`:${slot}`, `${shard.id}#${number}`])),
          ReturnValues: "ALL_NEW",
        }),
      );
      learn(id, Attributes);
      for (const [slot] of open) {
        if (!isUncounted(Attributes[slot])) continue;
        const period = slot === "m" ? month : `${month}-${slot.slice(1)}`;
        news.set(period, (news.get(period) ?? 0) + 1);
      }
    }
  };
  await Promise.all(Array.from({ length: REQUESTS_MAX }, work));
  return news;
}

async function readUnknown(visits) {
  const reads = [];
  for (let from = 0; from < visits.length; from += BATCH_GET_KEYS_MAX) {
    const chunk = visits.slice(from, from + BATCH_GET_KEYS_MAX);
    const Keys = chunk.map(({ user, month }) => ({ userId: `ROLLUP#FIRSTSEEN#${user}`, createDateTime: month }));
    reads.push(client.send(new BatchGetCommand({ RequestItems: { [TableName]: { Keys } } })));
  }
  for (const { Responses } of await Promise.all(reads)) {
    for (const marker of Responses?.[TableName] ?? []) {
      learn(`${marker.userId.slice("ROLLUP#FIRSTSEEN#".length)} ${marker.createDateTime}`, marker);
    }
  }
}

function learn(id, marker) {
  if (known.size >= KNOWN_MARKERS_MAX) known.clear();
  known.set(id, marker);
}

async function commit(shard, from, clicks, news) {
  const sums = new Map();
  let total = 0;
  for (const { day, clickCount } of clicks) {
    total += clickCount;
    for (const period of [day, day.slice(0, 7)]) sums.set(period, (sums.get(period) ?? 0) + clickCount);
  }
  const now = new Date();
  const stat = (Key, dateKey, recordSort, n, users) => ({
    Update: {
      TableName,
      Key,
      UpdateExpression: `SET dateKey = :dateKey, recordSort = :recordSort ADD totalClicks :n${users === undefined ? "" : ", uniqueUsers :users"}`,
      ExpressionAttributeValues: {
        ":dateKey": dateKey,
        ":recordSort": recordSort,
        ":n": n,
        ...(users === undefined ? {} : { ":users": users }),
      },
    },
  });
  const moved = {
    TableName,
    Key: shard.key,
    UpdateExpression: "SET sequenceNumber = :to, updatedAt = :now, expiresAt = :expires",
    ConditionExpression: from === undefined ? "attribute_not_exists(userId)" : "sequenceNumber = :from",
    ExpressionAttributeValues: {
      ":to": clicks.at(-1).number,
      ":now": now.toISOString(),
      ":expires": Math.floor(now.getTime() / 1000) + CHECKPOINT_RETENTION_S,
      ...(from === undefined ? {} : { ":from": from }),
    },
  };
  const stats = [...sums].map(([period, n]) => {
    const kind = period.length === 10 ? "DAILY" : "MONTHLY";
    const dateKey = period.length === 10 ? `DATE#${period}` : `MONTH#${period}`;
    return stat({ userId: `STAT#${kind}`, createDateTime: period }, dateKey, `STAT#${kind}`, n, news.get(period) ?? 0);
  });
  const TransactItems = [{ Update: moved }, stat(TOTAL, TOTAL.userId, TOTAL.createDateTime, total), ...stats];
  await client.send(new TransactWriteCommand({ TransactItems }));
  return total;
}
