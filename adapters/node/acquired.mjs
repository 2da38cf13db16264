// An owner that calls acquire, release and extend.

import { notHeld, Trouble } from "./failure.mjs";
import { waiting } from "./waiting.mjs";

export class AcquiredLock {
  #redlock;
  #trouble;
  #name;
  #lease;
  #lock; // what acquire returned, until it is released

  constructor(redlock, name, lease) {
    this.#redlock = redlock;
    this.#trouble = new Trouble(redlock);
    this.#name = name;
    this.#lease = lease;
  }

  // Times are in milliseconds; a lease of 0 is the default.
  async acquire(wait, lease) {
    const duration = lease || this.#lease;
    this.#lock = await waiting(this.#redlock.settings, wait, (retryCount) =>
      this.#trouble.meet("busy", () => this.#redlock.acquire([this.#name], duration, { retryCount })),
    );
    return { lease: duration };
  }

  async release() {
    if (!this.#lock) throw notHeld();
    const lock = this.#lock;
    this.#lock = undefined;
    await this.#trouble.meet("not-held", () => lock.release());
  }

  async extend(lease) {
    if (!this.#lock) throw notHeld();
    this.#lock = await this.#trouble.meet("lost", () => this.#lock.extend(lease));
  }

  isLost() {
    return false; // nobody tells
  }
}
