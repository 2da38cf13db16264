package io.github.holdfastgo.worker;

/**
 * An acquire that succeeded.
 *
 * @param token the fencing token, 0 for none
 * @param leaseNs how long the hold lasts without a renewal, in nanoseconds; 0 for ever
 */
public record Grant(long token, long leaseNs, boolean renewed) {
}
