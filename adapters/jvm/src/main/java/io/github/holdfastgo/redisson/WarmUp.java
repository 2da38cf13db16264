package io.github.holdfastgo.redisson;

import io.github.holdfastgo.worker.Leftovers;
import io.github.holdfastgo.worker.Locks;
import io.github.holdfastgo.worker.Rehearsal;
import io.github.holdfastgo.worker.Share;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RedissonClient;

/**
 * Makes a process one that has been up for a while: its code is loaded, and its scripts are known to the servers. A JVM
 * takes a hundred times as long for its first acquire as for its tenth, which is time that no user's lock would take.
 */
final class WarmUp {

    private static final long LEASE_MS = 50;
    /**
     * Of all other holds, so that the watchdog renews none: Redisson keeps a timer for each acquire that was renewed
     * within a third of the lease, and each of them would renew the holds of the run.
     */
    private static final long HELD_MS = TimeUnit.SECONDS.toMillis(10);
    /** Far longer than the lease: a wait that runs out while Redisson subscribes leaves the subscription behind. */
    private static final long WAIT_MS = TimeUnit.SECONDS.toMillis(10);
    /** After these a request takes as long as any later one. */
    private static final int ROUNDS = 10;

    private WarmUp() {
    }

    /** Takes a lock of a name that nobody else has, has another owner wait until it expires, and rehearses requests. */
    static void of(Kind kind, List<RedissonClient> clients, Locks.Opened opened, String process) {
        String name = "holdfast-warm-up-" + process;
        Taking first = kind.open(clients, name, Share.PLAIN);
        for (int i = 0; i < (kind.isSemaphore() ? Kind.PERMITS : 1); i++) {
            take(first, 0, LEASE_MS);
        }
        // Of its own: one that has been given a lease keeps it as its default until it is unlocked.
        Taking lock = kind.open(clients, name, Share.PLAIN);
        Thread other = new Thread(() -> {
            if (take(lock, WAIT_MS, HELD_MS) != Taking.BUSY) {
                lock.giveBack();
            }
        }, "holdfast-warm-up");
        other.start();
        if (!kind.leases()) {
            first.giveBack();
        }
        Leftovers.await(List.of(other), 2 * WAIT_MS);
        Rehearsal.of(opened, name, TimeUnit.MILLISECONDS.toNanos(HELD_MS), ROUNDS);
        if (!kind.keeps(name).isEmpty()) {
            clients.get(0).getKeys().delete(kind.keeps(name).toArray(String[]::new));
        }
    }

    private static long take(Taking lock, long waitMs, long leaseMs) {
        try {
            return lock.take(waitMs, leaseMs);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted, which nobody does", e);
        }
    }
}
