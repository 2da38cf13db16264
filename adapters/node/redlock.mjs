// The locks of node-redlock, what each promises, and how to open them.

import { readFileSync } from "node:fs";
import Redlock from "redlock";

import { AcquiredLock } from "./acquired.mjs";
import { known } from "./known.mjs";
import { connect } from "./servers.mjs";
import { milliseconds } from "./times.mjs";
import { UsingLock } from "./using.mjs";

const { dependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));

// What node-redlock does by default, in milliseconds. README says a jitter of
// 200, the code has 100.
const defaults = { retryDelay: 200, retryJitter: 100, automaticExtensionThreshold: 500 };

const common = {
  version: dependencies.redlock,
  handoff_ns: (defaults.retryDelay + defaults.retryJitter) * 1e6,
  key: "{name}",
};

// Promises of all. "takes_back" is the last step of the Redlock algorithm, which
// node-redlock says it implements: who fails to acquire unlocks all instances.
const acquires = { waits: true, lease: true, takes_back: true };

const locks = {
  "node-redlock": {
    Owner: AcquiredLock,
    description: {
      summary: `node-redlock on one primary, over ioredis ${dependencies.ioredis}: acquire, release, extend`,
      claims: { ...acquires, explicit: true, extends: true },
    },
  },
  "node-redlock-3": {
    Owner: AcquiredLock,
    description: {
      summary: `node-redlock on a majority of three primaries, over ioredis ${dependencies.ioredis}: acquire, release, extend`,
      claims: { ...acquires, explicit: true, extends: true },
      primaries: 3,
      quorum: 2,
      reaches: ["address", "sentinels"],
    },
  },
  "node-redlock-using": {
    Owner: UsingLock,
    description: {
      summary: `node-redlock on one primary, over ioredis ${dependencies.ioredis}: the body of using(), which extends by itself`,
      claims: { ...acquires, renewal: true, lost_sign: true },
      // It extends 500 ms before the end of a lease that it counts 1 % and 2 ms
      // short: this holds for leases of any length.
      renew_every: 0.99,
    },
  },
};

export const descriptions = Object.entries(locks).map(([name, l]) => ({ name, ...common, ...l.description, known: known[name] }));

// Opens the lock that a hello names. It is connected when the promise resolves.
export async function open(hello) {
  const lock = locks[hello.lock];
  const scale = hello.redis.time_scale ?? 1;
  const settings = Object.fromEntries(Object.entries(defaults).map(([k, ms]) => [k, ms * scale]));
  if (hello.poll_ns > 0) {
    // The longest time between two looks, in the proportions of the default.
    settings.retryDelay = (hello.poll_ns / 1e6) * (2 / 3);
    settings.retryJitter = (hello.poll_ns / 1e6) * (1 / 3);
  }
  const clients = await connect(hello.redis, scale, lock.description.primaries ?? 1);
  return {
    version: common.version,
    // Each owner has its own, to hear of its own errors.
    owner: (name, lost) => new lock.Owner(new Redlock(clients, settings), name, milliseconds(hello.lease_ns), lost),
    async disconnect() {
      // quit() waits for answers, which may not come.
      await Promise.race([new Redlock(clients).quit().catch(() => {}), new Promise((done) => setTimeout(done, 500))]);
      for (const c of clients) c.disconnect();
    },
  };
}
