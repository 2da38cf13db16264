package io.github.holdfastgo.worker;

import java.io.OutputStream;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Plays through what a harness asks for. The last step of a build does, so that the JVM can archive the classes that this
 * loads. A worker does before its hello is answered, so that the JVM has run and compiled the way of a request.
 */
public final class Rehearsal {

    private static final long LONGEST_MS = 10_000;

    private Rehearsal() {
    }

    /** Plays against a server at that port of this machine. */
    public static void of(Locks locks, int port) throws InterruptedException {
        Semaphore answered = new Semaphore(0);
        Worker worker = new Worker(locks, counting(answered));
        worker.handle("{\"id\":1,\"do\":\"describe\"}");
        worker.handle(("{\"id\":2,\"do\":\"hello\",\"hello\":{\"protocol\":\"holdfast-worker/1\",\"lease_ns\":1000000000,"
                + "\"redis\":{\"primaries\":[\"127.0.0.1:%d\"]}}}").formatted(port));
        worker.handle("{\"id\":3,\"do\":\"acquire\",\"lock\":\"archive\",\"thread\":\"1\",\"wait_ns\":1000000000}");
        worker.handle("{\"id\":4,\"do\":\"release\",\"lock\":\"archive\",\"thread\":\"1\"}");
        if (!answered.tryAcquire(4, LONGEST_MS, TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException("no answers from the worker");
        }
        worker.handle("{\"id\":5,\"do\":\"finish\"}");
    }

    /** Takes and releases a lock of that name and lease so many times, as the harness would ask for it. */
    public static void of(Locks.Opened opened, String lock, long leaseNs, int times) {
        Semaphore answered = new Semaphore(0);
        Worker worker = new Worker(opened, counting(answered));
        for (int i = 0; i < times; i++) {
            ask(worker, answered, "{\"id\":%d,\"do\":\"acquire\",\"lock\":\"%s\",\"thread\":\"1\",\"lease_ns\":%d}"
                    .formatted(2 * i + 1, lock, leaseNs));
            ask(worker, answered, "{\"id\":%d,\"do\":\"release\",\"lock\":\"%s\",\"thread\":\"1\"}".formatted(2 * i + 2, lock));
        }
    }

    /** Releases a permit for each line, which is one answer. */
    private static Outbox counting(Semaphore answered) {
        return new Outbox(new OutputStream() {
            @Override
            public void write(int b) {
                if (b == '\n') {
                    answered.release();
                }
            }
        });
    }

    private static void ask(Worker worker, Semaphore answered, String line) {
        worker.handle(line);
        try {
            if (!answered.tryAcquire(LONGEST_MS, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("no answer to " + line);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted, which nobody does", e);
        }
    }
}
