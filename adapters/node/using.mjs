// An owner that holds the lock in the body of using(), which extends it.

import { notHeld, Trouble } from "./failure.mjs";
import { waiting } from "./waiting.mjs";

export class UsingLock {
  #redlock;
  #trouble;
  #name;
  #lease;
  #lost; // is called with nothing when the signal aborts
  #body; // that of using(), while it runs

  constructor(redlock, name, lease, lost) {
    this.#redlock = redlock;
    this.#trouble = new Trouble(redlock);
    this.#name = name;
    this.#lease = lease;
    this.#lost = lost;
  }

  async acquire(wait) {
    this.#body = await waiting(this.#redlock.settings, wait, (retryCount) =>
      this.#trouble.meet("busy", () => this.#enter(retryCount)),
    );
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
      body.over.catch(refused);
    });
  }

  async release() {
    if (!this.#body) throw notHeld();
    const body = this.#body;
    this.#body = undefined;
    await this.#trouble.meet("not-held", () => {
      body.leave();
      return body.over;
    });
  }

  isLost() {
    return this.#body?.signal.aborted ?? false;
  }
}
