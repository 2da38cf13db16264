// An owner that holds the lock in the body of using(), which extends it.

import { classified, notHeld } from "./failure.mjs";
import { waiting } from "./waiting.mjs";

export class UsingLock {
  #redlock;
  #name;
  #lease;
  #lost; // is called with nothing when the signal aborts
  #body; // that of using(), while it runs

  constructor(redlock, name, lease, lost) {
    this.#redlock = redlock;
    this.#name = name;
    this.#lease = lease;
    this.#lost = lost;
  }

  async acquire(wait) {
    this.#body = await waiting(this.#redlock.settings, wait, (retryCount) => this.#enter(retryCount));
    return { lease: this.#lease, renewed: true };
  }

  // Resolves when the body has begun.
  #enter(retryCount) {
    return new Promise((entered, refused) => {
      const body = {};
      body.over = this.#redlock.using([this.#name], this.#lease, { retryCount }, (signal) => {
        body.signal = signal;
        signal.addEventListener("abort", () => this.#body === body && this.#lost());
        return new Promise((leave) => {
          body.leave = leave;
          entered(body);
        });
      });
      // A rejection after the body has begun is the release's, who awaits it.
      body.over.catch(async (error) => refused(await classified(error, "busy")));
    });
  }

  async release() {
    if (!this.#body) throw notHeld();
    const body = this.#body;
    this.#body = undefined;
    body.leave();
    try {
      await body.over;
    } catch (error) {
      throw await classified(error, "not-held");
    }
  }

  isLost() {
    return this.#body?.signal.aborted ?? false;
  }
}
