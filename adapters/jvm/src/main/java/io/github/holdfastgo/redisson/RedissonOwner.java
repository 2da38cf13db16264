package io.github.holdfastgo.redisson;

import com.google.gson.JsonObject;
import io.github.holdfastgo.worker.Grant;
import io.github.holdfastgo.worker.Owner;
import io.github.holdfastgo.worker.Request;
import java.util.concurrent.TimeUnit;

/** An owner of a lock of Redisson, which tells nobody that a lock is lost. */
final class RedissonOwner extends Owner {

    private final Taking lock;
    private final Kind kind;
    private final long watchdogNs;

    RedissonOwner(String name, long number, Taking lock, Kind kind, long watchdogNs) {
        super(name, number);
        this.lock = lock;
        this.kind = kind;
        this.watchdogNs = watchdogNs;
    }

    @Override
    protected Grant take(Request r) throws InterruptedException {
        boolean watched = r.leaseNs() == 0 && kind.renewed();
        long leaseNs = r.leaseNs() == 0 ? watchdogNs : r.leaseNs();
        long token = lock.take(millis(r.waitNs()), watched ? -1 : millis(leaseNs));
        if (token == Taking.BUSY) {
            return null;
        }
        return new Grant(token == Taking.NO_TOKEN ? 0 : token, kind.leases() ? leaseNs : 0, watched);
    }

    @Override
    protected void giveBack() {
        lock.giveBack();
    }

    @Override
    protected int held() {
        return lock.count();
    }

    @Override
    protected JsonObject failure(Request r, Exception e) {
        return Failures.answer(e, kind.givesBack() && r.act().equals("acquire"));
    }

    /** Milliseconds are the unit of Redisson. Nothing that was asked for is cut off. */
    private static long millis(long ns) {
        long ms = TimeUnit.NANOSECONDS.toMillis(ns);
        return ns > 0 && TimeUnit.MILLISECONDS.toNanos(ms) < ns ? ms + 1 : ns < 0 ? -1 : ms;
    }
}
