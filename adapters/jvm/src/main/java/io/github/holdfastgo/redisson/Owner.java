package io.github.holdfastgo.redisson;

import com.google.gson.JsonObject;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * An owner is a lock with a thread of its own that uses it, as Redisson knows owners by their client and thread. The
 * threads of one number have one id, whatever lock they use: the harness counts that as one thread.
 */
final class Owner extends Thread {

    private final long number;
    private final Taking lock;
    private final Kind kind;
    private final long watchdogNs;
    private final BiConsumer<Request, JsonObject> answer;
    private final BlockingQueue<Request> requests = new LinkedBlockingQueue<>();

    /** Guards what follows, and that no interrupt outlives the operation that it is meant for. */
    private final Object interrupting = new Object();
    private long current; // the request under way, 0 for none

    /** How many holds this owner has by its own reckoning: to ask would be another round trip. */
    private int count;
    private volatile long hold; // the acquire that began the present hold, 0 for none

    Owner(String name, long number, Taking lock, Kind kind, long watchdogNs, BiConsumer<Request, JsonObject> answer) {
        super("holdfast-" + number + "-" + name);
        setDaemon(true);
        this.number = number;
        this.lock = lock;
        this.kind = kind;
        this.watchdogNs = watchdogNs;
        this.answer = answer;
    }

    /** The number that Redisson knows the thread by. */
    @Override
    public long getId() {
        return number;
    }

    /** Has an operation done, which is answered when it is over. */
    void submit(Request r) {
        requests.add(r);
    }

    /** Interrupts request {@code id}, if it is under way; otherwise it is not yet or no longer there, and nothing happens. */
    void cancel(long id) {
        synchronized (interrupting) {
            if (current == id) {
                interrupt();
            }
        }
    }

    /** What the process knows of its hold by itself. Redisson tells nobody that a lock is lost. */
    JsonObject settle() {
        return withHold(Answer.ok());
    }

    @Override
    public void run() {
        while (true) {
            Request r;
            try {
                r = requests.take();
            } catch (InterruptedException e) {
                throw new IllegalStateException("interrupted with no request under way", e);
            }
            begin(r);
            JsonObject a;
            try {
                a = perform(r);
            } catch (Exception e) {
                a = failed(r, e);
            } finally {
                end();
            }
            answer.accept(r, a);
        }
    }

    private void begin(Request r) {
        synchronized (interrupting) {
            current = r.id();
            if (r.canceled()) {
                interrupt();
            }
        }
    }

    private void end() {
        synchronized (interrupting) {
            current = 0;
            Thread.interrupted();
        }
    }

    private JsonObject perform(Request r) throws InterruptedException {
        return switch (r.act()) {
            case "acquire" -> acquire(r);
            case "release" -> release();
            case "state" -> state();
            default -> Answer.unsupported("Redisson's locks have no " + r.act());
        };
    }

    private JsonObject acquire(Request r) throws InterruptedException {
        boolean watched = r.leaseNs() == 0;
        long token = lock.take(millis(r.waitNs()), watched ? -1 : millis(r.leaseNs()));
        if (token == Taking.BUSY) {
            return Answer.failure(java.util.List.of("busy"), "not acquired within the wait");
        }
        if (count == 0) {
            hold = r.id();
        }
        count++;
        JsonObject a = withHold(Answer.ok());
        a.addProperty("count", count);
        if (token != Taking.NO_TOKEN) {
            a.addProperty("token", token);
        }
        a.addProperty("lease_ns", watched ? watchdogNs : r.leaseNs());
        if (watched) {
            a.addProperty("renewed", true);
        }
        return a;
    }

    private JsonObject release() {
        lock.giveBack();
        count = Math.max(0, count - 1);
        if (count == 0) {
            hold = 0;
        }
        JsonObject a = Answer.ok();
        a.addProperty("count", count);
        return a;
    }

    private JsonObject state() {
        JsonObject a = withHold(Answer.ok());
        a.addProperty("count", lock.count());
        return a;
    }

    private JsonObject failed(Request r, Exception e) {
        if (e instanceof IllegalMonitorStateException) {
            count = 0;
            hold = 0;
        }
        return Failures.answer(e, kind.givesBack() && r.act().equals("acquire"));
    }

    private JsonObject withHold(JsonObject a) {
        if (hold != 0) {
            a.addProperty("hold", hold);
        }
        return a;
    }

    /** Milliseconds are the unit of Redisson. Nothing that was asked for is cut off. */
    private static long millis(long ns) {
        long ms = TimeUnit.NANOSECONDS.toMillis(ns);
        return ns > 0 && TimeUnit.MILLISECONDS.toNanos(ms) < ns ? ms + 1 : ns < 0 ? -1 : ms;
    }
}
