package io.github.holdfastgo.worker;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Threads that should have ended with the clients of a library and have not. */
public final class Leftovers {

    private final Set<Thread> before = Thread.getAllStackTraces().keySet();

    /** Returns the stack of each of those threads that is still there after that time. */
    public List<String> after(long ms) {
        await(strangers(), ms);
        return strangers().stream().map(Leftovers::stack).toList();
    }

    /** Waits until all of them have ended, but not longer than that. */
    public static void await(Collection<Thread> threads, long ms) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        try {
            for (Thread t : threads) {
                t.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())));
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted at the end of the work", e);
        }
    }

    /** Neither a daemon, nor this worker's, nor older than it. */
    private List<Thread> strangers() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(t -> t.isAlive() && !t.isDaemon() && !before.contains(t) && !t.getName().startsWith("holdfast-"))
                .toList();
    }

    private static String stack(Thread t) {
        StringBuilder s = new StringBuilder(t.getName());
        for (StackTraceElement e : t.getStackTrace()) {
            s.append("\n\tat ").append(e);
        }
        return s.toString();
    }
}
