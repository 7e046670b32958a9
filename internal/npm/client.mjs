// A client of the TypeScript SDK that does as it is told, one line of JSON at a
// time: {"id", "op", "params", "timeout"} on standard input is answered with
// {"id", "result"} or {"id", "error"} on standard output. Id 0 is the connection,
// and the last line, when the input has ended, is {"noise"}: what the client has
// complained about.
//
//   node client.mjs '{"sdk": "v1", "command": "...", "args": []}'
//   node client.mjs '{"sdk": "v1", "url": "...", "headers": {}, "origin": ""}'
//
// v1 is @modelcontextprotocol/sdk and v2 is @modelcontextprotocol/client;
// v2-modern asks for the newest protocol revision first. With an origin, HTTP is
// spoken as a browser does it for a page from there.

import { createInterface } from "node:readline";

const { sdk, command, args, url, headers = {}, origin } = JSON.parse(process.argv[2]);

async function load() {
  if (sdk === "v1") {
    const [client, stdio, http] = await Promise.all([
      import("@modelcontextprotocol/sdk/client/index.js"),
      import("@modelcontextprotocol/sdk/client/stdio.js"),
      import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    ]);
    return { ...client, ...stdio, ...http };
  }
  const [client, stdio] = await Promise.all([
    import("@modelcontextprotocol/client"),
    import("@modelcontextprotocol/client/stdio"),
  ]);
  return { ...client, ...stdio };
}

// browserFetch does what a browser does before it lets a page at origin see
// an answer from elsewhere, and fails where a browser would.
async function browserFetch(url, init = {}) {
  const headers = new Headers(init.headers);
  const method = init.method ?? "GET";
  const preflight = await fetch(url, {
    method: "OPTIONS",
    headers: {
      Origin: origin,
      "Access-Control-Request-Method": method,
      "Access-Control-Request-Headers": [...headers.keys()].sort().join(","),
    },
  });
  const allowed = (name) => (preflight.headers.get(name) ?? "").toLowerCase().split(/\s*,\s*/);
  const refused =
    !preflight.ok ||
    preflight.headers.get("access-control-allow-origin") !== origin ||
    !allowed("access-control-allow-methods").includes(method.toLowerCase()) ||
    [...headers.keys()].some((h) => !allowed("access-control-allow-headers").includes(h));
  if (refused) {
    throw new TypeError(`the preflight for ${method} was refused with ${preflight.status}`);
  }
  headers.set("Origin", origin);
  headers.set("Sec-Fetch-Site", "cross-site");
  const response = await fetch(url, { ...init, headers });
  if (response.headers.get("access-control-allow-origin") !== origin) {
    throw new TypeError("the answer may not be read by another origin");
  }
  const exposed = (response.headers.get("access-control-expose-headers") ?? "").toLowerCase().split(/\s*,\s*/);
  const visible = new Headers(response.headers);
  for (const name of response.headers.keys()) {
    if (name !== "content-type" && !exposed.includes(name)) visible.delete(name);
  }
  return new Response(response.body, { status: response.status, headers: visible });
}

const { Client, StdioClientTransport, StreamableHTTPClientTransport } = await load();
const client = new Client(
  { name: `typescript-${sdk}`, version: "1.0.0" },
  sdk === "v2-modern" ? { versionNegotiation: { mode: "auto" } } : {},
);
const transport = command
  ? new StdioClientTransport({ command, args, stderr: "inherit" })
  : new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
      ...(origin ? { fetch: browserFetch } : {}),
    });

const operations = {
  listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
  callTool: async (params, options) => {
    const result = await (sdk === "v1" ? client.callTool(params, undefined, options) : client.callTool(params, options));
    return {
      isError: result.isError ?? false,
      structured: result.structuredContent ?? null,
      text: result.content.filter(({ type }) => type === "text").map(({ text }) => text),
      links: result.content.filter(({ type }) => type === "resource_link").map(({ uri }) => uri),
    };
  },
  listPrompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
  getPrompt: async (params) => (await client.getPrompt(params)).messages.map(({ content }) => content.text).join("\n"),
  listResources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
  readResource: async (params) => (await client.readResource(params)).contents.map(({ text }) => text).join("\n"),
};

const noise = [];
client.onerror = (error) => noise.push(String(error));
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
const answer = async (id, work) => {
  try {
    say({ id, result: await work() });
  } catch (error) {
    say({ id, error: String(error) });
  }
};

await answer(0, async () => {
  await client.connect(transport);
  return client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? "";
});
for await (const line of createInterface({ input: process.stdin })) {
  const { id, op, params, timeout } = JSON.parse(line);
  await answer(id, () => operations[op](params, { signal: AbortSignal.timeout(timeout) }));
}
await client.close();
say({ noise });
