// POST /clicks: checks one click, and puts it into the first free millisecond of its user.
import { createHash, randomBytes } from "node:crypto";
import { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";
import { PutCommand } from "@aws-sdk/lib-dynamodb";
import { TableName, client, connect, json, problem } from "./table.mjs";

const BODY_BYTES_MAX = 64 * 1024;
const PROBES_MAX = 64;
const SKEW_MAX_MS = 5 * 60 * 1000;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const SHARDS = Number(process.env.CLICK_DATE_SHARDS ?? 1);

export const init = () => connect({ userId: "LAYOUT#CLICKS", createDateTime: "dateShards" });

export async function handle(event) {
  const start = performance.now();
  const reply = await answer(event);
  const line = { route: event.routeKey, status: reply.statusCode, duration_ms: performance.now() - start };
  console.log(JSON.stringify(line));
  return reply;
}

async function answer(event) {
  if (event.routeKey !== "POST /clicks") return problem(404, "not-found", event.rawPath);
  const body = event.isBase64Encoded ? Buffer.from(event.body, "base64").toString() : (event.body ?? "");
  if (Buffer.byteLength(body) > BODY_BYTES_MAX) return problem(413, "body-too-large");
  let click;
  try {
    click = JSON.parse(body);
  } catch (error) {
    return problem(400, "invalid-body", error.message);
  }
  if (typeof click !== "object" || click === null || Array.isArray(click)) return problem(400, "invalid-body");
  const unknown = Object.keys(click).find((name) => !["userId", "clickCount", "idempotencyKey"].includes(name));
  if (unknown) return problem(400, "invalid-body", `unknown member ${unknown}`);
  const { userId, clickCount = 1 } = click;
  const valid = typeof userId === "string" && userId.length > 0 && [...userId].length <= 128;
  if (!valid || /[#\p{Cc}]/u.test(userId)) return problem(400, "invalid-user-id");
  if (!Number.isInteger(clickCount) || clickCount < 1 || clickCount > 1000) return problem(400, "invalid-click-count");

  const key = event.headers?.["idempotency-key"] ?? click.idempotencyKey;
  if (key !== undefined && !UUID_V7.test(key)) return problem(400, "invalid-idempotency-key");
  const clickId = (key ?? uuidV7()).toLowerCase();
  const millisecond = parseInt(clickId.slice(0, 8) + clickId.slice(9, 13), 16);
  if (Math.abs(millisecond - Date.now()) > SKEW_MAX_MS) return problem(400, "idempotency-key-time");

  for (let step = 0; step < PROBES_MAX; step++) {
    const createDateTime = new Date(millisecond + step).toISOString();
    const Item = {
      userId,
      createDateTime,
      clickCount,
      clickId,
      dateKey: dateKey(createDateTime.slice(0, 10), userId),
      recordSort: `CLICK#${createDateTime}#${userId}`,
    };
    try {
      await client.send(
        new PutCommand({
          TableName,
          Item,
          ConditionExpression: "attribute_not_exists(#key)",
          ExpressionAttributeNames: { "#key": "userId" },
          ReturnValuesOnConditionCheckFailure: "ALL_OLD",
        }),
      );
      return json(201, { userId, createDateTime, clickCount, clickId });
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      if (error.Item?.clickId?.S === clickId) {
        const stored = { userId, createDateTime, clickCount: Number(error.Item.clickCount?.N ?? 1), clickId };
        return json(200, stored);
      }
    }
  }
  return problem(409, "no-free-millisecond");
}

function dateKey(day, userId) {
  if (SHARDS === 1) return `DATE#${day}`;
  const shard = createHash("sha256").update(userId).digest().readUInt16BE(0) % SHARDS;
  return `DATE#${day}#${String(shard).padStart(2, "0")}`;
}

function uuidV7() {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
