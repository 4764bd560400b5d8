// GET /stats/total, /stats/daily/{date} and /stats/monthly/{month}.
import { GetCommand } from "@aws-sdk/lib-dynamodb";
import { TOTAL, TableName, client, connect, json, problem } from "./table.mjs";

export const init = () => connect();

export async function handle(event) {
  const start = performance.now();
  const reply = await answer(event);
  const line = { route: event.routeKey, status: reply.statusCode, duration_ms: performance.now() - start };
  console.log(JSON.stringify(line));
  return reply;
}

async function answer(event) {
  const { date, month } = event.pathParameters ?? {};
  switch (event.routeKey) {
    case "GET /stats/total":
      return json(200, { totalClicks: (await stat(TOTAL)).totalClicks });
    case "GET /stats/daily/{date}":
      if (!isDay(date)) return problem(400, "invalid-parameter", "`date`");
      return json(200, { date, ...(await stat({ userId: "STAT#DAILY", createDateTime: date })) });
    case "GET /stats/monthly/{month}":
      if (!isDay(`${month}-01`)) return problem(400, "invalid-parameter", "`month`");
      return json(200, { month, ...(await stat({ userId: "STAT#MONTHLY", createDateTime: month })) });
    default:
      return problem(404, "not-found", event.rawPath);
  }
}

async function stat(Key) {
  const { Item } = await client.send(new GetCommand({ TableName, Key }));
  return { totalClicks: Item?.totalClicks ?? 0, uniqueUsers: Item?.uniqueUsers ?? 0 };
}

function isDay(text) {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  return time !== undefined && !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
}
