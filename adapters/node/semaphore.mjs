// redis-semaphore's Mutex, RedlockMutex and Semaphore: what they promise, how to open
// them, and an owner that calls acquire and release. A mutex refreshes itself.

import { readFileSync } from "node:fs";
import { Mutex, RedlockMutex, Semaphore } from "redis-semaphore";

import { Failure, notHeld } from "./failure.mjs";
import { connect } from "./servers.mjs";
import { milliseconds } from "./times.mjs";

const installed = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8")).version;
const retryInterval = 10; // its default, in milliseconds
const permits = 2;

const common = {
  version: installed("redis-semaphore"),
  claims: { waits: true, lease: true, explicit: true, renewal: true, lost_sign: true },
  renew_every: 0.8,
  handoff_ns: retryInterval * 1e6,
  key: "mutex:{name}",
};

export const descriptions = [
  { name: "redis-semaphore", summary: `redis-semaphore's Mutex, over ioredis ${installed("ioredis")}`, ...common },
  {
    name: "redis-semaphore-3",
    summary: `redis-semaphore's RedlockMutex on a majority of three primaries, over ioredis ${installed("ioredis")}`,
    ...common,
    primaries: 3,
    quorum: 2,
    reaches: ["address", "sentinels"],
  },
  {
    name: "redis-semaphore-permits",
    summary: `redis-semaphore's Semaphore of ${permits} permits, over ioredis ${installed("ioredis")}`,
    ...common,
    claims: { ...common.claims, permits },
    key: "semaphore:{name}",
    holder: "none",
  },
];

// Opens the lock that a hello names. It is connected when the promise resolves.
export async function open(hello) {
  const { primaries = 1, claims } = descriptions.find((d) => d.name === hello.lock);
  const scale = hello.redis.time_scale ?? 1;
  const clients = await connect(hello.redis, scale, primaries);
  const defaults = {
    lockTimeout: milliseconds(hello.lease_ns),
    retryInterval: hello.poll_ns > 0 ? milliseconds(hello.poll_ns) : retryInterval * scale,
  };
  return {
    version: common.version,
    owner: (name, lost) => new SemaphoreLock((o) => make(clients, name, claims.permits, { ...defaults, ...o }), defaults.lockTimeout, lost),
    async disconnect() {
      for (const c of clients) c.disconnect();
    },
  };
}

function make(clients, name, limit, options) {
  if (limit) return new Semaphore(clients[0], name, limit, options);
  return clients.length > 1 ? new RedlockMutex(clients, name, options) : new Mutex(clients[0], name, options);
}

class SemaphoreLock {
  #make;
  #lease;
  #lost; // is called when the mutex tells of its loss
  #mutex; // that was acquired last, until it is released

  constructor(make, lease, lost) {
    this.#make = make;
    this.#lease = lease;
    this.#lost = lost;
  }

  // Times are in milliseconds; a lease of 0 is the default, which is refreshed.
  async acquire(wait, lease) {
    const once = wait === 0 ? { acquireAttemptsLimit: 1 } : { acquireTimeout: wait < 0 ? Infinity : wait };
    const own = lease ? { lockTimeout: lease, refreshInterval: 0 } : {};
    const taken = this.#make({ ...once, ...own, onLockLost: () => this.#mutex === taken && this.#lost() });
    if (!(await unknown(() => taken.tryAcquire()))) throw new Failure(["busy"], "tryAcquire returned false");
    this.#mutex = taken;
    return { lease: lease || this.#lease, renewed: !lease };
  }

  async release() {
    if (!this.#mutex) throw notHeld();
    const taken = this.#mutex;
    this.#mutex = undefined;
    const lost = !taken.isAcquired;
    await unknown(() => taken.release());
    if (lost) throw new Failure(["lost"], "the mutex has told of its loss");
  }

  isLost() {
    return this.#mutex ? !this.#mutex.isAcquired : false;
  }
}

// Every error is ioredis', which may have sent the command.
async function unknown(operation) {
  try {
    return await operation();
  } catch (error) {
    throw new Failure(["unknown"], String(error.message));
  }
}
