// An owner that calls acquire, release and extend.

import { classified, notHeld } from "./failure.mjs";
import { waiting } from "./waiting.mjs";

export class AcquiredLock {
  #redlock;
  #name;
  #lease;
  #lock; // what acquire returned, until it is released

  constructor(redlock, name, lease) {
    this.#redlock = redlock;
    this.#name = name;
    this.#lease = lease;
  }

  // Times are in milliseconds; a lease of 0 is the default.
  async acquire(wait, lease) {
    const duration = lease || this.#lease;
    this.#lock = await waiting(this.#redlock.settings, wait, async (retryCount) => {
      try {
        return await this.#redlock.acquire([this.#name], duration, { retryCount });
      } catch (error) {
        throw await classified(error, "busy");
      }
    });
    return { lease: duration };
  }

  async release() {
    if (!this.#lock) throw notHeld();
    const lock = this.#lock;
    this.#lock = undefined;
    try {
      await lock.release();
    } catch (error) {
      throw await classified(error, "not-held");
    }
  }

  async extend(lease) {
    if (!this.#lock) throw notHeld();
    try {
      this.#lock = await this.#lock.extend(lease);
    } catch (error) {
      throw await classified(error, "lost");
    }
  }

  isLost() {
    return false; // nobody tells
  }
}
