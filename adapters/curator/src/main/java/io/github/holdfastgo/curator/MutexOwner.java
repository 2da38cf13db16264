package io.github.holdfastgo.curator;

import io.github.holdfastgo.worker.Grant;
import io.github.holdfastgo.worker.Request;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.zookeeper.data.Stat;

/** An owner of an InterProcessMutex, of which Curator knows the thread. */
final class MutexOwner extends CuratorOwner {

    /** Shows where the calling thread has its node; null where it has none. */
    private static final class Mutex extends InterProcessMutex {
        Mutex(CuratorFramework client, String path) {
            super(client, path);
        }

        String node() {
            return getLockPath();
        }
    }

    private final Mutex mutex;
    private final long leaseNs;
    private final boolean fenced;

    MutexOwner(String lock, long thread, CuratorFramework client, String path, long leaseNs, boolean fenced) {
        super(lock, thread, client);
        this.leaseNs = leaseNs;
        this.fenced = fenced;
        mutex = new Mutex(client, path);
    }

    @Override
    void rehearse() throws Exception {
        mutex.acquire();
        token();
        mutex.release();
    }

    @Override
    protected Grant take(Request r) throws Exception {
        if (r.waitNs() < 0) {
            mutex.acquire();
        } else if (!mutex.acquire(r.waitNs(), TimeUnit.NANOSECONDS)) {
            return null;
        }
        return new Grant(fenced ? token() : 0, leaseNs, true);
    }

    /** The zxid at which the owner's node was created; it grows from holder to holder. 0 where the node is gone. */
    private long token() throws Exception {
        Stat s = client.checkExists().forPath(mutex.node());
        return s == null ? 0 : s.getCzxid();
    }

    @Override
    protected void giveBack() throws Exception {
        mutex.release();
    }

    @Override
    String node() {
        return mutex.node();
    }
}
