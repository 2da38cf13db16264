package io.github.holdfastgo.redisson;

import java.util.List;
import org.redisson.api.RedissonClient;

/**
 * Makes a process one that has been up for a while: its code is loaded, and its scripts are known to the servers. A JVM
 * takes a hundred times as long for its first acquire as for its tenth, which is time that no user's lock would take.
 */
final class WarmUp {

    private static final int ROUNDS = 1;
    private static final long LEASE_MS = 1_000;
    private static final long WAIT_MS = 10;

    private WarmUp() {
    }

    /** Takes a lock of a name that nobody else has, and makes another owner wait for it in vain. */
    static void of(Kind kind, List<RedissonClient> clients, String process) {
        Kind warmed = kind == Kind.FENCED ? Kind.PLAIN : kind; // a fenced lock would leave its token behind
        Taking lock = warmed.open(clients, "holdfast-warm-up-" + process);
        take(lock, 0, -1);
        Thread other = new Thread(() -> take(lock, WAIT_MS, LEASE_MS), "holdfast-warm-up");
        other.start();
        Leftovers.await(List.of(other), LEASE_MS);
        lock.giveBack();
    }

    private static void take(Taking lock, long waitMs, long leaseMs) {
        try {
            lock.take(waitMs, leaseMs);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted, which nobody does", e);
        }
    }
}
