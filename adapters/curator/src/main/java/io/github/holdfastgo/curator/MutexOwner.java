package io.github.holdfastgo.curator;

import io.github.holdfastgo.worker.Grant;
import io.github.holdfastgo.worker.Request;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.zookeeper.data.Stat;

/** An owner of an InterProcessMutex, or of one side of a read-write lock. Curator knows its thread. */
final class MutexOwner extends CuratorOwner {

    /** A mutex that shows its node. */
    private static final class Mutex extends InterProcessMutex {
        Mutex(CuratorFramework client, String path) {
            super(client, path);
        }

        String node() {
            return getLockPath();
        }
    }

    private final InterProcessMutex mutex;
    private final Supplier<String> node; // that of the calling thread; null where it has none
    private final long leaseNs;
    private final boolean fenced;

    private MutexOwner(String lock, long thread, CuratorFramework client, InterProcessMutex mutex, Supplier<String> node,
            long leaseNs, boolean fenced) {
        super(lock, thread, client);
        this.mutex = mutex;
        this.node = node;
        this.leaseNs = leaseNs;
        this.fenced = fenced;
    }

    static MutexOwner exclusive(String lock, long thread, CuratorFramework client, String path, long leaseNs, boolean fenced) {
        Mutex mutex = new Mutex(client, path);
        return new MutexOwner(lock, thread, client, mutex, mutex::node, leaseNs, fenced);
    }

    /** Returns a writer, or a reader if the owner shares the lock. */
    static MutexOwner ofBoth(String lock, long thread, CuratorFramework client, String path, long leaseNs, boolean shared) {
        InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path);
        return shared
                ? new MutexOwner(lock, thread, client, both.readLock(), both.readLock()::getLockPath, leaseNs, false)
                : new MutexOwner(lock, thread, client, both.writeLock(), both.writeLock()::getLockPath, leaseNs, false);
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
        Stat s = client.checkExists().forPath(node());
        return s == null ? 0 : s.getCzxid();
    }

    @Override
    protected void giveBack() throws Exception {
        mutex.release();
    }

    @Override
    String node() {
        return node.get();
    }
}
