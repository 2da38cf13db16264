// The classes of docs/worker-protocol.md for the errors of node-redlock.

import { ExecutionError, ResourceLockedError } from "redlock";

// Failure is an error that has its classes already.
export class Failure extends Error {
  constructor(classes, message) {
    super(message);
    this.classes = classes;
  }
}

export const notHeld = () => new Failure(["not-held"], "the owner has no lock to call");

// Gives an error of node-redlock the class refused when the servers themselves
// said no in all attempts, and "unknown" when something else was wrong in one.
export async function classified(error, refused) {
  if (!(error instanceof ExecutionError)) return new Failure(["other"], String(error.message));
  const attempts = await Promise.all(error.attempts.map(votes));
  const wrong = attempts.flatMap((a) => (a ? others(a) : []));
  const message = [error.message, ...new Set(wrong.map((e) => e.message))].join(" ");
  return new Failure([attempts.every((a) => a && refusals(a) >= a.quorumSize) ? refused : "unknown"], message);
}

// The votes of an attempt; undefined when they are not all in, as they are
// never shown before. A server may be silent for ever.
const votes = (stats) => Promise.race([stats, new Promise((done) => setImmediate(done))]);

const refusals = (a) => a.votesAgainst.size - others(a).length;

const others = (a) => [...a.votesAgainst.values()].filter((e) => !(e instanceof ResourceLockedError));
