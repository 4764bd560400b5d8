// The clicks table, and what all functions do with it.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand } from "@aws-sdk/lib-dynamodb";

export const TableName = process.env.CLICKS_TABLE;
export const client = DynamoDBDocumentClient.from(new DynamoDBClient({}));

export const TOTAL = { userId: "STAT#TOTAL", createDateTime: "METADATA" };

// Opens the connection while Lambda still gives full CPU, as the functions in Rust do. The roles allow
// the writer to read another item than the others.
export async function connect(Key = TOTAL) {
  await client.send(new GetCommand({ TableName, Key }));
}

export function problem(status, type, detail) {
  return {
    statusCode: status,
    headers: { "content-type": "application/problem+json" },
    body: JSON.stringify({ type: `urn:tidemark:problem:${type}`, status, detail }),
  };
}

export function json(status, body) {
  return {
    statusCode: status,
    headers: { "content-type": "application/json", "cache-control": "no-store" },
    body: JSON.stringify(body),
  };
}
