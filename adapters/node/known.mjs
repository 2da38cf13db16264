// What node-redlock is known for, by its tracker where somebody has reported it.

const sentAgain = [
  {
    scenario: "lost-acquire-reply",
    property: "linearizable",
    because:
      "ioredis sends the acquire again on its next connection, and the script refuses it, as it only looks whether the key exists " +
      "and not whose value it has: the caller waits for itself (PR 369).",
  },
  {
    scenario: "lost-acquire-reply",
    property: "progress",
    because: "retryCount counts attempts and no time: one whose reply is lost makes the wait as much longer as it took.",
  },
  ...["linearizable", "errors"].map((property) => ({
    scenario: "lost-release-reply",
    property,
    because:
      "ioredis sends the release again on its next connection, and the script, which counts the keys that it deletes, finds none. " +
      "After ten more tries the caller is told that there was no quorum (issues 65, 168).",
  })),
];

const lateSignal =
  "The signal aborts only when an extension fails (issue 253), and not when the lease ends. One that hangs does not fail, and one " +
  "that is refused is tried ten more times, which takes two seconds.";

export const known = {
  "node-redlock": sentAgain,
  "node-redlock-3": [
    ...["exclusion", "resource"].map((property) => ({
      scenario: "redlock-slow-replies",
      property,
      because:
        "acquire() returns a lock whose lease ended before the replies came: Redlock's check that enough of the validity is left is " +
        "not made (PR 369).",
    })),
    ...sentAgain.filter((k) => k.scenario === "lost-release-reply"),
    {
      scenario: "renewal-hiccup",
      property: "count",
      because:
        "A member that is down gets the acquire when it is back, from ioredis' queue, after the lock was given back elsewhere. The " +
        "release follows at once.",
    },
  ],
  "node-redlock-using": [
    ...sentAgain,
    ...["slow-holder", "late-release"].map((scenario) => ({
      scenario,
      property: "errors",
      because:
        "The expiration is counted from before the first try (issues 169, 296, 299). Who has waited for longer than the lease is told " +
        "at once that the lock is lost, which the server has just granted.",
    })),
    ...["partitioned-holder", "slow-link-then-cut", "renewal-hiccup"].flatMap((scenario) =>
      ["exclusion", "resource"].map((property) => ({ scenario, property, because: lateSignal })),
    ),
  ],
};
