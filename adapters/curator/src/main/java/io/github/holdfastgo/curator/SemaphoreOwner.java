package io.github.holdfastgo.curator;

import io.github.holdfastgo.worker.Grant;
import io.github.holdfastgo.worker.Request;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** An owner of an InterProcessSemaphoreV2, who has one permit at most. Curator calls a permit a lease. */
final class SemaphoreOwner extends CuratorOwner {

    private final InterProcessSemaphoreV2 semaphore;
    private final String path;
    private final long leaseNs;
    private Lease permit; // null for none

    SemaphoreOwner(String lock, long thread, CuratorFramework client, String path, int permits, long leaseNs) {
        super(lock, thread, client);
        this.path = path;
        this.leaseNs = leaseNs;
        semaphore = new InterProcessSemaphoreV2(client, path, permits);
    }

    @Override
    void rehearse() throws Exception {
        permit = semaphore.acquire();
        giveBack();
        client.delete().deletingChildrenIfNeeded().forPath(path); // its containers outlast it
    }

    @Override
    protected Grant take(Request r) throws Exception {
        permit = r.waitNs() < 0 ? semaphore.acquire() : semaphore.acquire(r.waitNs(), TimeUnit.NANOSECONDS);
        return permit == null ? null : new Grant(0, leaseNs, true);
    }

    @Override
    protected void giveBack() throws Exception {
        if (permit == null) {
            throw new IllegalMonitorStateException("no permit");
        }
        permit.close();
        permit = null;
    }

    @Override
    String node() {
        return permit == null ? null : path + "/leases/" + permit.getNodeName();
    }
}
