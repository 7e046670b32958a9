// Runs every tool of the order desk with the TypeScript SDK's client and prints
// what it received as one JSON object.
//
//   node client.mjs v1|v2|v2-modern stdio <command> [argument...]
//   node client.mjs v1|v2|v2-modern http|browser <url> [origin]
//
// Where search_orders takes no limit, it reads the rest of what was cut instead.
//
// v1 is @modelcontextprotocol/sdk and v2 is @modelcontextprotocol/client;
// v2-modern asks for the newest protocol revision first. browser is http as a
// page on another origin does it.

const [sdk, transportName, target, ...rest] = process.argv.slice(2);

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
function browserFetch(origin) {
  return async (url, init = {}) => {
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
  };
}

function transport({ StdioClientTransport, StreamableHTTPClientTransport }) {
  switch (transportName) {
    case "stdio":
      return new StdioClientTransport({ command: target, args: rest, stderr: "inherit" });
    case "http":
      return new StreamableHTTPClientTransport(new URL(target));
    case "browser":
      return new StreamableHTTPClientTransport(new URL(target), { fetch: browserFetch(rest[0]) });
  }
  throw new Error(`no transport ${transportName}`);
}

const { Client, ...transports } = await load();
const options = sdk === "v2-modern" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client({ name: `typescript-${sdk}`, version: "1.0.0" }, options);
const noise = [];
client.onerror = (error) => noise.push(String(error));
const t = transport(transports);
await client.connect(t);

const { tools } = await client.listTools();
const calls = {};
async function call(label, name, args) {
  const { isError = false, structuredContent, content } = await client.callTool({ name, arguments: args });
  calls[label] = { isError, structured: structuredContent ?? null, text: content.map((c) => c.text).join("\n") };
  return structuredContent;
}

// runAll calls every tool of the server.
async function runAll() {
  const found = await call("search_orders", "search_orders", { status: "paid", limit: 1 });
  const order = found.items[0].order_id;
  await call("revenue", "revenue", { from: "2026-04-01", to: "2026-06-30" });
  let page = await call("search_orders, first page", "search_orders", { status: "paid", limit: 50 });
  while (page.next_cursor !== null) {
    page = await call("search_orders, last page", "search_orders", { cursor: page.next_cursor });
  }
  const { lines } = await call("get_order", "get_order", { order_id: order });
  await call("cancel_order", "cancel_order", { order_id: order });
  await call("cancel_order refused", "cancel_order", { order_id: "ORD-42" });
  await call("reserve_stock", "reserve_stock", { sku: lines[0].sku, quantity: 1 });
  await call("reserve_stock refused", "reserve_stock", { sku: lines[0].sku, quantity: 1000 });
  await call("search_orders refused", "search_orders", { limit: 500 });
  const { export_id } = await call("start_export", "start_export", { status: "cancelled" });
  for (let i = 0; i < 100; i++) {
    const { state } = await call("export_status", "export_status", { export_id });
    if (state !== "running") break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await call("start_export again", "start_export", { status: "cancelled" });
  const exported = await call("export_orders", "export_orders", { status: "refunded" });
  if (exported.task) {
    // It takes longer than the server lets a caller wait.
    const task = { task_id: exported.task.taskId };
    await call("task_status", "task_status", task);
    await call("task_result", "task_result", task);
    await call("task_cancel", "task_cancel", task);
    await call("task_answer refused", "task_answer", { ...task, answers: {} });
  }
  await call("exports_written", "exports_written", {});
}

// readTheRest reads what was cut off a result that was too large.
async function readTheRest() {
  await call("search_orders", "search_orders", {});
  const [, next] = calls.search_orders.text.match(/call read_result with (\{.*?\})/);
  await call("read_result", "read_result", JSON.parse(next));
}

const { limit } = tools.find(({ name }) => name === "search_orders").inputSchema.properties;
await (limit ? runAll() : readTheRest());

const protocol = client.getNegotiatedProtocolVersion?.() ?? t.protocolVersion ?? null;
await client.close();
console.log(JSON.stringify({ protocol, tools: tools.map((tool) => tool.name), calls, noise }));
