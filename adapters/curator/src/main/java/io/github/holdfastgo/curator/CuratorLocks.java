package io.github.holdfastgo.curator;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.github.holdfastgo.worker.Locks;
import io.github.holdfastgo.worker.Program;
import io.github.holdfastgo.worker.Request;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Curator's InterProcessMutex, without tokens and with them, its semaphore, its read-write lock and its LeaderLatch. */
final class CuratorLocks implements Locks {

    private static final String PLAIN = "curator";
    static final String FENCED = "curator-fenced";
    static final String LATCH = "curator-latch";
    static final String SEMAPHORE = "curator-semaphore";
    static final String READ_WRITE = "curator-read-write";
    /** The permits of the semaphore. */
    static final int PERMITS = 2;

    /** How many servers a run gets, which the adapter of the Go client starts. */
    private static final int MEMBERS = 3;
    /** What a waiter may overlook whom a watch wakes. */
    private static final long HANDOFF_NS = TimeUnit.MILLISECONDS.toNanos(200);
    /** How much longer than its timeout a session may live: two ticks of the servers. */
    private static final long EXPIRY_NS = TimeUnit.MILLISECONDS.toNanos(400);

    @Override
    public String version() {
        return Program.version("curator.version");
    }

    @Override
    public JsonArray describe() {
        JsonArray all = new JsonArray();
        all.add(describe(PLAIN, "InterProcessMutex of Curator, a client for each process, on three members of ZooKeeper"));
        JsonObject fenced = describe(FENCED, "the same, with the czxid of the owner's node as a token that the resource checks");
        fenced.getAsJsonObject("claims").addProperty("fencing", true);
        all.add(fenced);
        JsonObject latch = describe(LATCH, "LeaderLatch of Curator, whose observers ask getLeader");
        latch.getAsJsonObject("claims").remove("reentrant");
        latch.getAsJsonObject("claims").addProperty("observes", true);
        all.add(latch);
        JsonObject semaphore = describe(SEMAPHORE, "InterProcessSemaphoreV2 of Curator with two permits");
        semaphore.getAsJsonObject("claims").remove("reentrant");
        semaphore.getAsJsonObject("claims").addProperty("permits", PERMITS);
        semaphore.getAsJsonObject("claims").addProperty("weighted", true);
        JsonArray keeps = new JsonArray();
        keeps.add("{name}/leases"); // containers, which the servers delete later
        keeps.add("{name}/locks");
        semaphore.add("keeps", keeps);
        all.add(semaphore);
        JsonObject both = describe(READ_WRITE, "InterProcessReadWriteLock of Curator");
        both.getAsJsonObject("claims").remove("reentrant"); // judged of a lock with one holder
        both.getAsJsonObject("claims").remove("fairness"); // there is no one order among readers and writers
        both.getAsJsonObject("claims").addProperty("read_write", true);
        both.getAsJsonObject("claims").addProperty("prefers_writers", true); // it queues all, and readers pass readers alone
        all.add(both);
        return all;
    }

    private JsonObject describe(String name, String summary) {
        JsonObject claims = new JsonObject();
        for (String c : List.of("waits", "cancels", "reentrant", "lease", "renewal", "lost_sign", "fairness", "takes_back")) {
            claims.addProperty(c, true);
        }
        JsonArray args = new JsonArray();
        args.add("serve");
        JsonObject servers = new JsonObject();
        servers.add("args", args);
        servers.addProperty("members", MEMBERS);
        servers.addProperty("two_peers", true);
        String missing = System.getProperty("holdfast.missing", "");
        if (!missing.isEmpty()) {
            servers.addProperty("missing", missing);
        }
        JsonObject o = new JsonObject();
        o.addProperty("name", name);
        o.addProperty("summary", summary);
        o.addProperty("version", version());
        o.add("claims", claims);
        o.addProperty("renew_every", 0.4);
        o.addProperty("handoff_ns", HANDOFF_NS);
        o.addProperty("lease_slack_ns", EXPIRY_NS);
        o.add("servers", servers);
        return o;
    }

    @Override
    public Opened open(JsonObject hello) {
        String name = Request.text(hello, "lock");
        if (name.isEmpty()) {
            name = PLAIN;
        }
        return List.of(PLAIN, FENCED, LATCH, SEMAPHORE, READ_WRITE).contains(name) ? Ensemble.connect(name, hello) : null;
    }
}
