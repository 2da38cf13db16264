package io.github.holdfastgo.redisson;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.github.holdfastgo.worker.Leftovers;
import io.github.holdfastgo.worker.Locks;
import io.github.holdfastgo.worker.Owner;
import io.github.holdfastgo.worker.Program;
import io.github.holdfastgo.worker.Request;
import io.github.holdfastgo.worker.Share;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RedissonClient;

/** Redisson's locks. */
final class RedissonLocks implements Locks {

    /** How long a shutdown may take. */
    private static final long FAREWELL_MS = TimeUnit.SECONDS.toMillis(2);

    @Override
    public JsonArray describe() {
        return Kind.describeAll(version());
    }

    @Override
    public String version() {
        return Program.version("redisson.version");
    }

    @Override
    public Opened open(JsonObject hello) {
        String name = Request.text(hello, "lock");
        Kind kind = name.isEmpty() ? Kind.PLAIN : Kind.of(name);
        if (kind == null) {
            return null;
        }
        List<RedissonClient> clients = Clients.connect(hello, kind.primaries);
        Opened opened = new Connected(kind, clients);
        WarmUp.of(kind, clients, opened, Request.text(hello, "process"));
        return opened;
    }

    private record Connected(Kind kind, List<RedissonClient> clients) implements Opened {

        @Override
        public String id() {
            return kind.id;
        }

        /** With several primaries an owner has as many identities, one with each client: then it stays untold. */
        @Override
        public String identity(long thread) {
            return clients.size() == 1 ? clients.get(0).getId() + ":" + thread : "";
        }

        @Override
        public Owner owner(String lock, long thread, Share share) {
            long watchdogNs = TimeUnit.MILLISECONDS.toNanos(clients.get(0).getConfig().getLockWatchdogTimeout());
            return new RedissonOwner(lock, thread, kind.open(clients, lock, share), kind, watchdogNs);
        }

        @Override
        public void close() {
            List<Thread> closing = new ArrayList<>();
            for (RedissonClient c : clients) {
                Thread t = new Thread(() -> c.shutdown(0, FAREWELL_MS, TimeUnit.MILLISECONDS), "holdfast-shutdown");
                t.start();
                closing.add(t);
            }
            Leftovers.await(closing, FAREWELL_MS * 2);
        }
    }
}
