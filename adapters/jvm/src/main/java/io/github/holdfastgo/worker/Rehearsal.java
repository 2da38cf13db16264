package io.github.holdfastgo.worker;

import java.io.OutputStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The last step of a build: plays through a start, an acquire and a release, so that the JVM can archive the classes that
 * they load and later starts are quicker.
 */
public final class Rehearsal {

    private static final long LONGEST_MS = 10_000;

    private Rehearsal() {
    }

    /** Plays against a server at that port of this machine. */
    public static void of(Locks locks, int port) throws InterruptedException {
        CountDownLatch answered = new CountDownLatch(4);
        Worker worker = new Worker(locks, new Outbox(new OutputStream() {
            @Override
            public void write(int b) {
                if (b == '\n') {
                    answered.countDown();
                }
            }
        }));
        worker.handle("{\"id\":1,\"do\":\"describe\"}");
        worker.handle(("{\"id\":2,\"do\":\"hello\",\"hello\":{\"protocol\":\"holdfast-worker/1\",\"lease_ns\":1000000000,"
                + "\"redis\":{\"primaries\":[\"127.0.0.1:%d\"]}}}").formatted(port));
        worker.handle("{\"id\":3,\"do\":\"acquire\",\"lock\":\"archive\",\"thread\":\"1\",\"wait_ns\":1000000000}");
        worker.handle("{\"id\":4,\"do\":\"release\",\"lock\":\"archive\",\"thread\":\"1\"}");
        if (!answered.await(LONGEST_MS, TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException("no answers from the worker");
        }
        worker.handle("{\"id\":5,\"do\":\"finish\"}");
    }
}
