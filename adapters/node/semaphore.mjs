// redis-semaphore's Mutex, Semaphore, and both on several primaries: what they promise, how
// to open them, and an owner that calls acquire and release. Each refreshes itself.

import { readFileSync } from "node:fs";
import { Mutex, RedlockMutex, RedlockSemaphore, Semaphore } from "redis-semaphore";

import { Failure, notHeld } from "./failure.mjs";
import { connect } from "./servers.mjs";
import { milliseconds } from "./times.mjs";

const installed = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8")).version;
const retryInterval = 10; // its default, in milliseconds

const common = {
  version: installed("redis-semaphore"),
  claims: { waits: true, lease: true, explicit: true, renewal: true, lost_sign: true },
  renew_every: 0.8,
  handoff_ns: retryInterval * 1e6,
};
const key = "mutex:{name}";
const permits = 2;
const semaphore = { claims: { ...common.claims, permits }, key: "semaphore:{name}", holder: "none" };
const three = { primaries: 3, quorum: 2, reaches: ["address", "sentinels"] };
const over = `over ioredis ${installed("ioredis")}`;

const makers = {
  "redis-semaphore": (clients, name, options) => new Mutex(clients[0], name, options),
  "redis-semaphore-3": (clients, name, options) => new RedlockMutex(clients, name, options),
  "redis-semaphore-permits": (clients, name, options) => new Semaphore(clients[0], name, permits, options),
  "redis-semaphore-permits-3": (clients, name, options) => new RedlockSemaphore(clients, name, permits, options),
};

export const descriptions = [
  { name: "redis-semaphore", summary: `redis-semaphore's Mutex, ${over}`, key },
  { name: "redis-semaphore-3", summary: `redis-semaphore's RedlockMutex on a majority of three primaries, ${over}`, key, ...three },
  { name: "redis-semaphore-permits", summary: `redis-semaphore's Semaphore of two permits, ${over}`, ...semaphore },
  {
    name: "redis-semaphore-permits-3",
    summary: `redis-semaphore's RedlockSemaphore of two permits on a majority of three primaries, ${over}`,
    ...semaphore,
    ...three,
  },
].map((d) => ({ ...common, ...d }));

// Opens the lock that a hello names. It is connected when the promise resolves.
export async function open(hello) {
  const { primaries = 1 } = descriptions.find((d) => d.name === hello.lock);
  const scale = hello.redis.time_scale ?? 1;
  const clients = await connect(hello.redis, scale, primaries);
  const defaults = {
    lockTimeout: milliseconds(hello.lease_ns),
    retryInterval: hello.poll_ns > 0 ? milliseconds(hello.poll_ns) : retryInterval * scale,
  };
  return {
    version: common.version,
    owner: (name, lost) => new SemaphoreLock((o) => makers[hello.lock](clients, name, { ...defaults, ...o }), defaults.lockTimeout, lost),
    async disconnect() {
      for (const c of clients) c.disconnect();
    },
  };
}

class SemaphoreLock {
  #make;
  #lease;
  #lost; // is called when the mutex tells of its loss
  #mutex; // or the semaphore that was acquired last, until it is released

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
