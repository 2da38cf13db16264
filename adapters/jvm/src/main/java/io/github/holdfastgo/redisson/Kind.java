package io.github.holdfastgo.redisson;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** The locks of Redisson that this worker has. */
enum Kind {
    PLAIN("redisson", "Redisson's RLock: a reentrant lock with a watchdog", 1, 1) {
        @Override
        Taking open(List<RedissonClient> clients, String name) {
            return Taking.of(clients.get(0).getLock(name));
        }
    },
    FENCED("redisson-fenced", "Redisson's RFencedLock: RLock with a fencing token", 1, 1) {
        @Override
        Taking open(List<RedissonClient> clients, String name) {
            return Taking.of(clients.get(0).getFencedLock(name));
        }
    },
    FAIR("redisson-fair", "Redisson's getFairLock: RLock with a queue", 1, 1) {
        @Override
        Taking open(List<RedissonClient> clients, String name) {
            return Taking.of(clients.get(0).getFairLock(name));
        }
    },
    MULTI("redisson-multi", "Redisson's getMultiLock: RLock on all of three primaries", 3, 3) {
        @Override
        Taking open(List<RedissonClient> clients, String name) {
            return Taking.of(clients.get(0).getMultiLock(members(clients, name)));
        }
    },
    REDLOCK("redisson-redlock", "Redisson's getRedLock, deprecated: RLock on most of three primaries", 3, 2) {
        @Override
        @SuppressWarnings("deprecation") // it is what is to be tested
        Taking open(List<RedissonClient> clients, String name) {
            return Taking.of(clients.get(0).getRedLock(members(clients, name)));
        }
    };

    /** What a lock that is woken by messages may be late by, where its timers are not to be relied on. */
    private static final long HANDOFF_NS = TimeUnit.SECONDS.toNanos(1);

    final String id;
    private final String summary;
    /** How many independent primaries the lock lives on. */
    final int primaries;
    private final int quorum;

    Kind(String id, String summary, int primaries, int quorum) {
        this.id = id;
        this.summary = summary;
        this.primaries = primaries;
        this.quorum = quorum;
    }

    /** Returns the lock of a name, for one owner. */
    abstract Taking open(List<RedissonClient> clients, String name);

    /** Whether an acquire that no replica has confirmed is given back. RFencedLock has no code for that. */
    boolean givesBack() {
        return this != FENCED;
    }

    /** Returns the lock of that id, null for none. */
    static Kind of(String id) {
        for (Kind k : values()) {
            if (k.id.equals(id)) {
                return k;
            }
        }
        return null;
    }

    static JsonArray describeAll(String version) {
        JsonArray all = new JsonArray();
        for (Kind k : values()) {
            all.add(k.describe(version));
        }
        return all;
    }

    private JsonObject describe(String version) {
        JsonObject claims = new JsonObject();
        for (String c : List.of("waits", "cancels", "reentrant", "lease", "explicit", "renewal", "messages")) {
            claims.addProperty(c, true);
        }
        if (this == FENCED) {
            claims.addProperty("fencing", true);
        }
        if (this == FAIR) {
            claims.addProperty("fairness", true);
        }
        JsonObject o = new JsonObject();
        o.addProperty("name", id);
        o.addProperty("summary", summary);
        o.addProperty("version", version);
        o.add("claims", claims);
        o.addProperty("renew_every", 0.34);
        o.addProperty("handoff_ns", HANDOFF_NS);
        if (primaries > 1) {
            o.addProperty("primaries", primaries);
            o.addProperty("quorum", quorum);
        }
        if (primaries == 1) {
            o.addProperty("acks", true); // checkLockSyncedSlaves, on by default
        }
        if (this == FENCED) {
            JsonArray keeps = new JsonArray();
            keeps.add(tokenKey("{name}"));
            keeps.add("redisson_lock_token:{name}"); // of a name that has braces of its own
            o.add("keeps", keeps);
        }
        return o;
    }

    /** Where RFencedLock keeps the last token of a lock whose name has no braces. */
    static String tokenKey(String name) {
        return "redisson_lock_token:{" + name + "}";
    }

    private static RLock[] members(List<RedissonClient> clients, String name) {
        return clients.stream().map(c -> c.getLock(name)).toArray(RLock[]::new);
    }
}
