package io.github.holdfastgo.curator;

import io.github.holdfastgo.worker.Grant;
import io.github.holdfastgo.worker.Request;
import java.util.Collection;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** An owner of an InterProcessSemaphoreV2, who takes so many permits at once. Curator calls a permit a lease. */
final class SemaphoreOwner extends CuratorOwner {

    private final InterProcessSemaphoreV2 semaphore;
    private final String path;
    private final long leaseNs;
    private final int takes;
    private Collection<Lease> held; // null for none

    SemaphoreOwner(String lock, long thread, CuratorFramework client, String path, int permits, int takes, long leaseNs) {
        super(lock, thread, client);
        this.takes = takes;
        this.path = path;
        this.leaseNs = leaseNs;
        semaphore = new InterProcessSemaphoreV2(client, path, permits);
    }

    @Override
    void rehearse() throws Exception {
        held = semaphore.acquire(takes);
        giveBack();
        client.delete().deletingChildrenIfNeeded().forPath(path); // its containers outlast it
    }

    @Override
    protected Grant take(Request r) throws Exception {
        held = r.waitNs() < 0 ? semaphore.acquire(takes) : semaphore.acquire(takes, r.waitNs(), TimeUnit.NANOSECONDS);
        return held == null ? null : new Grant(0, leaseNs, true);
    }

    @Override
    protected void giveBack() throws Exception {
        if (held == null) {
            throw new IllegalMonitorStateException("no permit");
        }
        semaphore.returnAll(held);
        held = null;
    }

    @Override
    String node() {
        return held == null ? null : path + "/leases/" + held.iterator().next().getNodeName();
    }
}
