// node-redlock has no waits, but retries after a random delay. As many calls of
// acquire as there is time for make a wait, each with as many retries as fit
// whatever the delays turn out to be: while servers answer it does not end
// late, and at most one longest delay early.

import { Failure } from "./failure.mjs";

// Calls attempt with a retryCount until it succeeds, fails for another reason
// than that the lock is taken, or the wait is over. A wait of 0 is one try, one
// below 0 has no end. In milliseconds.
export async function waiting(settings, wait, attempt) {
  const longest = settings.retryDelay + settings.retryJitter;
  const end = performance.now() + wait;
  for (;;) {
    const fit = wait < 0 ? -1 : Math.floor(Math.max(0, end - performance.now()) / longest);
    try {
      return await attempt(fit);
    } catch (error) {
      const busy = error instanceof Failure && error.classes.includes("busy");
      if (!busy || end - performance.now() < longest) throw error;
    }
  }
}
