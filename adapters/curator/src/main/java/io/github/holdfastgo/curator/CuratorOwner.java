package io.github.holdfastgo.curator;

import com.google.gson.JsonObject;
import io.github.holdfastgo.worker.Owner;
import io.github.holdfastgo.worker.Request;
import org.apache.curator.framework.CuratorFramework;

/** An owner of one of Curator's locks. */
abstract class CuratorOwner extends Owner {

    protected final CuratorFramework client;

    CuratorOwner(String lock, long thread, CuratorFramework client) {
        super(lock, thread);
        this.client = client;
    }

    /** Takes the lock and releases it, in the calling thread. */
    abstract void rehearse() throws Exception;

    /** The node of the owner, null if it has none. */
    abstract String node();

    @Override
    protected int held() throws Exception {
        String node = node();
        return node != null && client.checkExists().forPath(node) != null ? holds() : 0;
    }

    @Override
    protected JsonObject failure(Request r, Exception e) {
        return Failures.answer(e);
    }
}
