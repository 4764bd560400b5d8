// Lambda's Runtime API: one invocation after the other. What AWS's own runtime for Node.js does, and no more.
import { Agent, request } from "node:http";

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = request({ agent, host, port, method, headers, path: `/2018-06-01/runtime/${path}` }, (answer) => {
      const chunks = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.on("end", () => resolve({ headers: answer.headers, body: Buffer.concat(chunks).toString() }));
      answer.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export async function run(init, handle) {
  await init();
  for (;;) {
    const { headers, body } = await call("GET", "invocation/next");
    const id = headers["lambda-runtime-aws-request-id"];
    try {
      await call("POST", `invocation/${id}/response`, JSON.stringify(await handle(JSON.parse(body))));
    } catch (error) {
      const report = { errorType: error.name, errorMessage: error.message };
      await call("POST", `invocation/${id}/error`, JSON.stringify(report));
    }
  }
}
