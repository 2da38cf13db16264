package io.github.holdfastgo.redisson;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.github.holdfastgo.worker.Share;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;

/** The locks of Redisson that this worker has. */
enum Kind {
    PLAIN("redisson", "Redisson's RLock: a reentrant lock with a watchdog", 1, 1) {
        @Override
        Taking open(List<RedissonClient> clients, String name, Share share) {
            return Taking.of(clients.get(0).getLock(name));
        }
    },
    FENCED("redisson-fenced", "Redisson's RFencedLock: RLock with a fencing token", 1, 1) {
        @Override
        Taking open(List<RedissonClient> clients, String name, Share share) {
            return Taking.of(clients.get(0).getFencedLock(name));
        }
    },
    FAIR("redisson-fair", "Redisson's getFairLock: RLock with a queue", 1, 1) {
        @Override
        Taking open(List<RedissonClient> clients, String name, Share share) {
            return Taking.of(clients.get(0).getFairLock(name));
        }
    },
    MULTI("redisson-multi", "Redisson's getMultiLock: RLock on all of three primaries", 3, 3) {
        @Override
        Taking open(List<RedissonClient> clients, String name, Share share) {
            return Taking.of(clients.get(0).getMultiLock(members(clients, name)));
        }
    },
    REDLOCK("redisson-redlock", "Redisson's getRedLock, deprecated: RLock on most of three primaries", 3, 2) {
        @Override
        @SuppressWarnings("deprecation") // it is what is to be tested
        Taking open(List<RedissonClient> clients, String name, Share share) {
            return Taking.of(clients.get(0).getRedLock(members(clients, name)));
        }
    },
    SEMAPHORE("redisson-semaphore", "Redisson's RSemaphore of two permits, which nothing ends", 1, 1) {
        @Override
        Taking open(List<RedissonClient> clients, String name, Share share) {
            return Taking.of(clients.get(0).getSemaphore(name), PERMITS, share.permits());
        }
    },
    EXPIRABLE("redisson-permits", "Redisson's RPermitExpirableSemaphore of two permits, each with a lease", 1, 1) {
        @Override
        Taking open(List<RedissonClient> clients, String name, Share share) {
            return Taking.of(clients.get(0).getPermitExpirableSemaphore(name), PERMITS);
        }
    },
    READ_WRITE("redisson-read-write", "Redisson's RReadWriteLock with a watchdog for each hold", 1, 1) {
        @Override
        Taking open(List<RedissonClient> clients, String name, Share share) {
            RReadWriteLock both = clients.get(0).getReadWriteLock(name);
            return Taking.of(share.shared() ? both.readLock() : both.writeLock());
        }
    };

    /** The permits of a semaphore. */
    static final int PERMITS = 2;

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

    /** Returns the lock of a name, for one owner, who takes this share of it. */
    abstract Taking open(List<RedissonClient> clients, String name, Share share);

    /** Whether an acquire that no replica has confirmed is given back. RFencedLock has no code for that. */
    boolean givesBack() {
        return this != FENCED;
    }

    boolean isSemaphore() {
        return this == SEMAPHORE || this == EXPIRABLE;
    }

    /** Whether a hold ends by itself. */
    boolean leases() {
        return this != SEMAPHORE;
    }

    /** Whether a watchdog renews a hold without a lease of its own. */
    boolean renewed() {
        return !isSemaphore();
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
        claims.addProperty("waits", true);
        claims.addProperty("cancels", true);
        claims.addProperty("messages", true);
        claims.addProperty("reentrant", !isSemaphore() && this != READ_WRITE); // judged of a lock with one holder
        claims.addProperty("lease", leases());
        claims.addProperty("explicit", leases());
        claims.addProperty("renewal", renewed());
        claims.addProperty("fencing", this == FENCED);
        claims.addProperty("fairness", this == FAIR);
        claims.addProperty("read_write", this == READ_WRITE);
        claims.addProperty("downgrades", this == READ_WRITE);
        claims.addProperty("permits", isSemaphore() ? PERMITS : 0);
        claims.addProperty("weighted", this == SEMAPHORE);
        JsonObject o = new JsonObject();
        o.addProperty("name", id);
        o.addProperty("summary", summary);
        o.addProperty("version", version);
        o.add("claims", claims);
        if (renewed()) {
            o.addProperty("renew_every", 0.34);
        }
        o.addProperty("handoff_ns", HANDOFF_NS);
        if (primaries > 1) {
            o.addProperty("primaries", primaries);
            o.addProperty("quorum", quorum);
        }
        if (primaries == 1) {
            o.addProperty("acks", true); // checkLockSyncedSlaves, on by default
        }
        JsonArray keeps = new JsonArray();
        keeps("{name}").forEach(keeps::add);
        o.add("keeps", keeps);
        return o;
    }

    /** The keys that outlast all holds, for a name without braces and for one that has some. */
    List<String> keeps(String name) {
        return switch (this) {
            case FENCED -> List.of("redisson_lock_token:{" + name + "}", "redisson_lock_token:" + name);
            case SEMAPHORE -> List.of(name);
            case EXPIRABLE -> List.of(name, "{" + name + "}:timeout", name + ":timeout"); // the permits of the dead
            default -> List.of();
        };
    }

    private static RLock[] members(List<RedissonClient> clients, String name) {
        return clients.stream().map(c -> c.getLock(name)).toArray(RLock[]::new);
    }
}
