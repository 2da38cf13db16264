package io.github.holdfastgo.spring;

import com.google.gson.JsonObject;
import io.github.holdfastgo.worker.Answer;
import io.github.holdfastgo.worker.Grant;
import io.github.holdfastgo.worker.Owner;
import io.github.holdfastgo.worker.Request;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandInterruptedException;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.List;
import org.springframework.integration.support.locks.DistributedLock;

/** An owner of a lock of the registry, which knows it by its thread. */
final class SpringOwner extends Owner {

    /** A release that failed. The library has forgotten the hold whatever the reason is. */
    private static final class Forgotten extends IllegalMonitorStateException {
        private static final long serialVersionUID = 1;

        Forgotten(RuntimeException cause) {
            super(cause.toString());
            initCause(cause);
        }
    }

    private final DistributedLock lock;
    private final Duration lease;
    private final boolean renewed;

    SpringOwner(String name, long number, DistributedLock lock, Duration lease, boolean renewed) {
        super(name, number);
        this.lock = lock;
        this.lease = lease;
        this.renewed = renewed;
    }

    @Override
    protected Grant take(Request r) throws InterruptedException {
        Duration ttl = r.leaseNs() == 0 || renewed ? lease : Duration.ofNanos(r.leaseNs() + 999_999);
        if (r.waitNs() >= 0) {
            if (!lock.tryLock(Duration.ofNanos(r.waitNs()), ttl)) {
                return null;
            }
        } else if (ttl.equals(lease)) {
            lock.lockInterruptibly();
        } else {
            lock.lock(ttl);
        }
        return new Grant(0, Duration.ofMillis(ttl.toMillis()).toNanos(), renewed);
    }

    @Override
    protected void giveBack() {
        try {
            lock.unlock();
        } catch (RuntimeException e) {
            throw new Forgotten(e);
        }
    }

    @Override
    protected int held() {
        throw new UnsupportedOperationException("a lock of the registry does not tell its count");
    }

    @Override
    protected JsonObject failure(Request r, Exception e) {
        return Answer.failure(classes(r, e instanceof Forgotten ? (Exception) e.getCause() : e), text(e));
    }

    private static List<String> classes(Request r, Exception e) {
        if (e instanceof UnsupportedOperationException) {
            return List.of("unsupported");
        }
        if (e instanceof ConcurrentModificationException) {
            return List.of("lost");
        }
        if (e instanceof IllegalStateException && r.act().equals("release") && has(e, "You do not own lock")) {
            return List.of("not-held");
        }
        for (Throwable t = e; t != null; t = t.getCause()) {
            if (t instanceof RedisCommandInterruptedException) {
                return List.of("unknown", "canceled"); // thrown while a reply is waited for
            }
            if (t instanceof InterruptedException) {
                return List.of("canceled"); // thrown by a sleep or the local lock
            }
            if (t instanceof RedisCommandExecutionException) {
                return List.of(r.act().equals("acquire") ? "refused" : "other"); // the server's own answer
            }
        }
        return List.of(has(e, "STOPPED") || has(e, "destroyed") ? "closed" : "unknown");
    }

    private static boolean has(Exception e, String words) {
        return e.getMessage() != null && e.getMessage().contains(words);
    }

    private static String text(Throwable e) {
        StringBuilder s = new StringBuilder(e.toString());
        for (Throwable t = e.getCause(); t != null; t = t.getCause()) {
            s.append("; ").append(t);
        }
        return s.toString();
    }
}
