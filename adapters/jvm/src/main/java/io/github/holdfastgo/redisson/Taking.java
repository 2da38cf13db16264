package io.github.holdfastgo.redisson;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;

/** A lock as the worker uses it, by those of Redisson's methods that wait and can be interrupted. */
interface Taking {

    /** What {@link #take} returns where the lock has no tokens. */
    long NO_TOKEN = 0;
    /** What {@link #take} returns when the wait is over. */
    long BUSY = -1;

    /**
     * Takes the lock.
     *
     * @param waitMs how long to wait, 0 for one try, below 0 for ever
     * @param leaseMs how long to hold it, -1 for as long as the watchdog renews it
     * @return the token, {@link #NO_TOKEN} or {@link #BUSY}
     */
    long take(long waitMs, long leaseMs) throws InterruptedException;

    void giveBack();

    /** Asks the server how many holds the calling thread has. */
    int count();

    static Taking of(RLock lock) {
        return new Taking() {
            @Override
            public long take(long waitMs, long leaseMs) throws InterruptedException {
                if (waitMs < 0) {
                    lock.lockInterruptibly(leaseMs, TimeUnit.MILLISECONDS);
                    return NO_TOKEN;
                }
                return lock.tryLock(waitMs, leaseMs, TimeUnit.MILLISECONDS) ? NO_TOKEN : BUSY;
            }

            @Override
            public void giveBack() {
                lock.unlock();
            }

            @Override
            public int count() {
                return lock.getHoldCount();
            }
        };
    }

    static Taking of(RFencedLock lock) {
        Taking plain = of((RLock) lock);
        return new Taking() {
            @Override
            public long take(long waitMs, long leaseMs) {
                if (waitMs < 0) {
                    return leaseMs > 0 ? lock.lockAndGetToken(leaseMs, TimeUnit.MILLISECONDS) : lock.lockAndGetToken();
                }
                Long token = lock.tryLockAndGetToken(waitMs, leaseMs, TimeUnit.MILLISECONDS);
                return token == null ? BUSY : token;
            }

            @Override
            public void giveBack() {
                plain.giveBack();
            }

            @Override
            public int count() {
                return plain.count();
            }
        };
    }

    /** Some permits of a semaphore. Each owner sets their number before its first acquire, and the first one counts. */
    static Taking of(RSemaphore semaphore, int permits, int takes) {
        return new Taking() {
            private boolean set;

            @Override
            public long take(long waitMs, long leaseMs) throws InterruptedException {
                if (!set) {
                    semaphore.trySetPermits(permits);
                    set = true;
                }
                if (waitMs < 0) {
                    semaphore.acquire(takes);
                    return NO_TOKEN;
                }
                return semaphore.tryAcquire(takes, Duration.ofMillis(waitMs)) ? NO_TOKEN : BUSY;
            }

            @Override
            public void giveBack() {
                semaphore.release(takes);
            }

            @Override
            public int count() {
                throw new UnsupportedOperationException("a semaphore has no owners");
            }
        };
    }

    /** The same with permits that have an id, and a lease for each. */
    static Taking of(RPermitExpirableSemaphore semaphore, int permits) {
        return new Taking() {
            private boolean set;
            private String permit; // null for none

            @Override
            public long take(long waitMs, long leaseMs) throws InterruptedException {
                if (!set) {
                    semaphore.trySetPermits(permits);
                    set = true;
                }
                permit = waitMs < 0
                        ? semaphore.acquire(leaseMs, TimeUnit.MILLISECONDS)
                        : semaphore.tryAcquire(waitMs, leaseMs, TimeUnit.MILLISECONDS);
                return permit == null ? BUSY : NO_TOKEN;
            }

            @Override
            public void giveBack() {
                if (permit == null || !semaphore.tryRelease(permit)) {
                    throw new IllegalMonitorStateException("tryRelease returned false for the permit " + permit);
                }
                permit = null;
            }

            @Override
            public int count() {
                throw new UnsupportedOperationException("a permit has no owner");
            }
        };
    }
}
