// Locks of Node as a worker: it speaks holdfast-worker/1 on its standard input
// and output, as docs/adapter-protocol.md has it.

import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

import { Failure } from "./failure.mjs";
import * as redlock from "./redlock.mjs";
import * as semaphore from "./semaphore.mjs";
import { milliseconds } from "./times.mjs";

const protocol = "holdfast-worker/1";
const libraries = [redlock, semaphore];

console.log = console.info = console.error; // standard output is for messages

let lock; // that the hello named
const owners = new Map(); // by lock and thread
const underWay = new Map(); // what is asked, by the id of the request

const send = (message) => process.stdout.write(JSON.stringify(message) + "\n");

// An owner's view of a lock, with the acquire that its present hold began with.
function ownerOf({ lock: name, thread }) {
  const key = JSON.stringify([name, thread]);
  if (!owners.has(key)) {
    const entry = {};
    const lost = () => entry.hold && send({ event: "lost", lock: name, thread, hold: entry.hold });
    entry.owner = lock.owner(name, lost);
    owners.set(key, entry);
  }
  return owners.get(key);
}

const requests = {
  describe: () => ({ protocol, locks: libraries.flatMap((l) => l.descriptions) }),

  async hello({ hello }) {
    if (hello.protocol !== protocol) throw new Failure(["unsupported"], `this process speaks ${protocol}`);
    const library = libraries.find((l) => l.descriptions.some((d) => d.name === hello.lock));
    if (!library) throw new Error(`there is no lock ${JSON.stringify(hello.lock)} here`);
    lock = await library.open(hello);
    return { protocol, name: hello.lock, version: lock.version };
  },

  identity: () => ({}), // the locks store a random value for each hold

  async acquire(r) {
    if (r.canceled) throw new Failure(["canceled"], "the call was cancelled before it began");
    const entry = ownerOf(r);
    const wait = (r.wait_ns ?? 0) / 1e6;
    const { lease, renewed } = await entry.owner.acquire(wait, r.lease_ns > 0 ? milliseconds(r.lease_ns) : 0);
    entry.hold = r.id;
    // The answer must be out before an event about the hold can be.
    send({ id: r.id, ok: true, count: 1, lease_ns: lease * 1e6, renewed, hold: r.id });
  },

  async release(r) {
    const entry = ownerOf(r);
    entry.hold = undefined;
    await entry.owner.release();
    return { count: 0 };
  },

  async extend(r) {
    const { owner } = ownerOf(r);
    if (!owner.extend) throw unsupported(r);
    await owner.extend(milliseconds(r.lease_ns));
    return {};
  },

  async settle(r) {
    await sleep(2); // timers that are due come first
    const entry = ownerOf(r);
    return { hold: entry.hold, lost: entry.owner.isLost() };
  },

  cancel: () => ({}), // only an acquire of redis-semaphore has something like it: the operation runs on

  close: () => ({}), // there is nothing to close but connections

  async finish(r) {
    await lock.disconnect();
    underWay.delete(r.id);
    for (let waited = 0; underWay.size > 0 && waited < 2000; waited += 20) await sleep(20);
    return { goroutines: [...underWay.values()] };
  },
};

const unsupported = (r) => new Failure(["unsupported"], `there is no ${JSON.stringify(r.do)} here`);

const beforeHello = ["describe", "hello", "stop"];

async function serve(r) {
  underWay.set(r.id, `${r.do} ${r.lock ?? ""} by thread ${r.thread ?? "-"}, request ${r.id}`);
  try {
    const known = Object.hasOwn(requests, r.do);
    if (known && !lock && !beforeHello.includes(r.do)) throw new Failure(["other"], `asked to ${r.do} before the hello`);
    if (!known) throw unsupported(r);
    const answer = await requests[r.do](r);
    if (answer) send({ id: r.id, ok: true, ...answer });
  } catch (error) {
    send({ id: r.id, errors: error.classes ?? ["other"], message: String(error.message) });
    if (r.do === "hello") stop(1); // there is nothing to be asked
  } finally {
    underWay.delete(r.id);
  }
}

const stop = (status) => process.stdout.write("", () => process.exit(status));

const input = createInterface({ input: process.stdin });
input.on("line", (line) => {
  const r = JSON.parse(line);
  if (r.do !== "stop") return void serve(r);
  send({ id: r.id, ok: true });
  stop(0);
});
input.on("close", () => stop(0));
