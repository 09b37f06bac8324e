// A client of Loom that knows nothing but NATS and JSON: it connects without
// credentials, files a bead by request and another by publishing to a stream,
// watches notices, and tries what it may not do. It prints one JSON object a
// line; the test reads them.
import { connect, headers } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";

const [url, project] = process.argv.slice(2);
const say = (what) => console.log(JSON.stringify(what));

const nc = await connect({ servers: url, name: "story" });
const denied = new Set();
(async () => {
  for await (const s of nc.status()) {
    if (s.type === "error" && s.error?.subject) {
      denied.add(`${s.error.operation} ${s.error.subject}`);
      say({ denied: { operation: s.error.operation, subject: s.error.subject } });
    }
  }
})();

const json = () => {
  const h = headers();
  h.set("Content-Type", "application/json");
  return h;
};

// Notices are headers and a body in protobuf; headers are enough to follow.
const wanted = new Map(); // bead -> resolve
const seen = new Map(); // bead -> list of kinds
const watch = nc.subscribe("loom.v1.notice.>");
(async () => {
  for await (const m of watch) {
    const [, , , , , bead, kind] = m.subject.split(".");
    if (!seen.has(bead)) seen.set(bead, []);
    seen.get(bead).push(kind);
    say({ notice: { bead, kind, position: m.headers.get("Loom-Position"), summary: m.headers.get("Loom-Summary") } });
    if (kind === "attempt-dispatched") wanted.get(bead)?.();
  }
})();
await nc.flush();

const until = (bead) =>
  new Promise((resolve, reject) => {
    if (seen.get(bead)?.includes("attempt-dispatched")) return resolve();
    wanted.set(bead, resolve);
    setTimeout(() => reject(new Error(`nothing happened to ${bead}`)), 20_000).unref();
  });

// By request: the answer is given once the bead is durable.
const body = { project, goal: "grüße aus JavaScript", type: "BEAD_TYPE_BUG", idempotencyKey: "js-1" };
const ask = async (b) => (await nc.request("loom.v1.svc.submit", JSON.stringify(b), { headers: json(), timeout: 10_000 })).json();
const first = await ask(body);
say({ submitted: first });
await until(first.bead);
say({ again: await ask(body) });
say({ refused: await ask({ project, goal: "" }) });
say({ unknownField: await ask({ project, goal: "x", gaol: "y" }) });

// By publishing to the stream: the broker's acknowledgement is the promise.
const js = jetstream(nc);
const ack = await js.publish(
  "loom.v1.error.storefront",
  JSON.stringify({ status: 502, kind: "timeout", message: "checkout did not answer", project }),
  { headers: json() },
);
say({ acknowledged: { stream: ack.stream, seq: ack.seq } });
const filed = await new Promise((resolve, reject) => {
  const check = () => {
    for (const [bead, kinds] of seen) {
      if (bead !== first.bead && bead !== "-" && kinds.includes("attempt-dispatched")) return resolve(bead);
    }
    setTimeout(check, 20);
  };
  setTimeout(() => reject(new Error("the error report filed no bead")), 20_000).unref();
  check();
});
say({ filed });

// What a client without credentials may not do.
const may = async (what, f) => {
  try {
    await f();
    say({ allowed: what });
  } catch (err) {
    say({ forbidden: what, error: err.message });
  }
};
await may("read beads", () => nc.request("loom.v1.svc.bead", "{}", { headers: json(), timeout: 1_000 }));
await may("list streams", () => nc.request("$JS.API.STREAM.NAMES", "", { timeout: 1_000 }));
await may("delete the journal", () => nc.request("$JS.API.STREAM.DELETE.LOOM_J_00", "", { timeout: 1_000 }));
await may("approve", () => nc.request("loom.v1.ceo.ceo.decide", "x", { timeout: 1_000 }));
nc.subscribe("loom.v1.journal.>", { callback: (err) => err && say({ forbidden: "read the journal", error: err.message }) });
await nc.flush();
await may("write the journal", async () => {
  nc.publish("loom.v1.journal.00", "x");
  await nc.flush();
  await new Promise((resolve) => setTimeout(resolve, 100));
  if (![...denied].some((d) => d.includes("loom.v1.journal.00"))) return;
  throw new Error("permissions violation");
});
say({ done: true });
await nc.close();
process.exit(0);
