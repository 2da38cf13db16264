package io.github.holdfastgo.worker;

/** The part of a lock that an owner takes: that of a reader if it is shared, and so many permits of a semaphore. */
public record Share(boolean shared, int permits) {

    /** The whole of a mutex, or one permit. */
    public static final Share PLAIN = new Share(false, 1);
}
