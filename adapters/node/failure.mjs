// The classes of docs/adapter-protocol.md for the errors of node-redlock.

import { ExecutionError, ResourceLockedError } from "redlock";

// Failure is an error that has its classes already.
export class Failure extends Error {
  constructor(classes, message) {
    super(message);
    this.classes = classes;
  }
}

export const notHeld = () => new Failure(["not-held"], "the owner has no lock to call");

// Trouble classifies the errors of an owner's node-redlock. It listens to its
// "error" events: the votes of an attempt are not shown before all are in, and
// a server may be silent for ever.
export class Trouble {
  #heard = false;

  constructor(redlock) {
    redlock.on("error", (error) => (this.#heard ||= isTrouble(error)));
  }

  // Calls an operation. An error gets the class refused when the servers
  // themselves said no in all attempts, and "unknown" when something else was
  // wrong in one.
  async meet(refused, operation) {
    this.#heard = false;
    try {
      return await operation();
    } catch (error) {
      throw await this.#classified(error, refused);
    }
  }

  async #classified(error, refused) {
    if (!(error instanceof ExecutionError)) return new Failure(["other"], String(error.message));
    const attempts = await Promise.all(error.attempts.map(votes));
    const wrong = attempts.flatMap((a) => (a ? others(a) : []));
    const message = [error.message, ...new Set(wrong.map((e) => e.message))].join(" ");
    const said = attempts.every((a) => (a ? a.votesAgainst.size - others(a).length >= a.quorumSize : !this.#heard));
    return new Failure([said ? refused : "unknown"], message);
  }
}

// The votes of an attempt; undefined while they are not all in.
const votes = (stats) => Promise.race([stats, new Promise((done) => setImmediate(done))]);

const isTrouble = (error) => !(error instanceof ResourceLockedError);

const others = (a) => [...a.votesAgainst.values()].filter(isTrouble);
