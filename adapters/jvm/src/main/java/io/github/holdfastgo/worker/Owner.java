package io.github.holdfastgo.worker;

import com.google.gson.JsonObject;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * An owner is a lock with a thread of its own that uses it, as libraries of the JVM know owners by their thread. The
 * threads of one number have one id, whatever lock they use: the harness counts that as one thread.
 */
public abstract class Owner extends Thread {

    private final String lock;
    private final long number;
    private final BlockingQueue<Request> requests = new LinkedBlockingQueue<>();
    private BiConsumer<Request, JsonObject> answer;
    private Consumer<JsonObject> event;
    private String thread;

    /** Guards what follows, and that no interrupt outlives the operation that it is meant for. */
    private final Object interrupting = new Object();
    private long current; // the request under way, 0 for none

    /** How many holds this owner has by its own reckoning: to ask would be another round trip. */
    private int count;

    /** Guards what follows, and that a loss is told after the answer to its acquire. */
    private final Object telling = new Object();
    private long hold; // the acquire that began the present hold, 0 for none
    private long told; // the hold whose acquire has been answered
    private boolean lost;

    protected Owner(String lock, long number) {
        super("holdfast-" + number + "-" + lock);
        setDaemon(true);
        this.lock = lock;
        this.number = number;
    }

    /** Acquires the lock; null if the wait ends first. */
    protected abstract Grant take(Request r) throws Exception;

    /** Releases one hold. */
    protected abstract void giveBack() throws Exception;

    /** Asks the servers how many holds the calling thread has. */
    protected abstract int held() throws Exception;

    /** Asks who holds the lock: an identity, or a process and a thread; "" for nobody. */
    protected String holder() throws Exception {
        throw new UnsupportedOperationException("the lock names no holder");
    }

    /** Answers an operation that ended with an exception. */
    protected abstract JsonObject failure(Request r, Exception e);

    /** The number that the library knows the thread by. */
    @Override
    public final long getId() {
        return number;
    }

    final void start(String thread, BiConsumer<Request, JsonObject> answer, Consumer<JsonObject> event) {
        this.thread = thread;
        this.answer = answer;
        this.event = event;
        start();
    }

    /** Has an operation done, which is answered when it is over. */
    final void submit(Request r) {
        requests.add(r);
    }

    /** Interrupts request {@code id}, if it is under way; otherwise it is not yet or no longer there, and nothing happens. */
    final void cancel(long id) {
        synchronized (interrupting) {
            if (current == id) {
                interrupt();
            }
        }
    }

    /** Tells that the present hold is lost, if there is one. */
    public final void lose() {
        synchronized (telling) {
            if (hold != 0 && !lost) {
                lost = true;
                if (told == hold) {
                    tellLoss();
                }
            }
        }
    }

    private void tellLoss() {
        JsonObject e = new JsonObject();
        e.addProperty("event", "lost");
        e.addProperty("lock", lock);
        e.addProperty("thread", thread);
        e.addProperty("hold", hold);
        event.accept(e);
    }

    /** The name of the thread in the protocol. */
    protected final String thread() {
        return thread;
    }

    /** How many holds the owner has by its own reckoning. */
    protected final int holds() {
        return count;
    }

    /** What the process knows of its hold by itself. */
    final JsonObject settle() {
        return withHold(Answer.ok());
    }

    @Override
    public final void run() {
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
            synchronized (telling) {
                answer.accept(r, a);
                if (told != hold) {
                    told = hold;
                    if (lost) {
                        tellLoss();
                    }
                }
            }
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

    private JsonObject perform(Request r) throws Exception {
        return switch (r.act()) {
            case "acquire" -> acquire(r);
            case "release" -> release(r);
            case "state" -> state();
            case "observe" -> observe();
            default -> Answer.unsupported("the lock has no " + r.act());
        };
    }

    private JsonObject acquire(Request r) throws Exception {
        Grant g = take(r);
        if (g == null) {
            return Answer.failure(List.of("busy"), "not acquired within the wait");
        }
        if (count == 0) {
            begun(r.id());
        }
        count += r.share().permits();
        JsonObject a = withHold(Answer.ok());
        a.addProperty("count", count);
        if (g.token() != 0) {
            a.addProperty("token", g.token());
        }
        if (g.leaseNs() != 0) {
            a.addProperty("lease_ns", g.leaseNs());
        }
        if (g.renewed()) {
            a.addProperty("renewed", true);
        }
        return a;
    }

    private void begun(long acquire) {
        synchronized (telling) {
            hold = acquire;
            lost = false;
        }
    }

    private JsonObject release(Request r) throws Exception {
        giveBack();
        count = Math.max(0, count - r.share().permits());
        if (count == 0) {
            begun(0);
        }
        JsonObject a = Answer.ok();
        a.addProperty("count", count);
        return a;
    }

    private JsonObject state() throws Exception {
        JsonObject a = withHold(Answer.ok());
        a.addProperty("count", held());
        return a;
    }

    private JsonObject observe() throws Exception {
        JsonObject a = Answer.ok();
        a.addProperty("holder", holder());
        return a;
    }

    private JsonObject failed(Request r, Exception e) {
        if (e instanceof IllegalMonitorStateException) {
            count = 0;
            begun(0);
        }
        return failure(r, e);
    }

    private JsonObject withHold(JsonObject a) {
        synchronized (telling) {
            if (hold != 0) {
                a.addProperty("hold", hold);
            }
            if (lost) {
                a.addProperty("lost", true);
            }
        }
        return a;
    }
}
