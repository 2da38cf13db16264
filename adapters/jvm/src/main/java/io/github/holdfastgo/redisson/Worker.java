package io.github.holdfastgo.redisson;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RedissonClient;

/** Does what the harness asks. Requests come from one thread; operations on locks run in those of their owners. */
final class Worker {

    private static final String PROTOCOL = "holdfast-worker/1";
    /** How long a shutdown may take, and what is left of it may live on. */
    private static final long FAREWELL_MS = TimeUnit.SECONDS.toMillis(2);

    private record OwnerKey(String lock, String thread) {
    }

    private final Outbox out;
    private final String version = version();
    private final Leftovers leftovers = new Leftovers();
    private final Map<OwnerKey, Owner> owners = new ConcurrentHashMap<>();
    private final Map<String, Long> threads = new ConcurrentHashMap<>();
    private final Map<Long, Owner> pending = new ConcurrentHashMap<>(); // by request

    private Kind kind;
    private long watchdogNs;
    private List<RedissonClient> clients = List.of();

    Worker(Outbox out) {
        this.out = out;
    }

    /** Answers a request, or has it answered; false means that the process is to stop. */
    boolean handle(String line) {
        Request r = Request.parse(line);
        switch (r.act()) {
            case "describe" -> answer(r, describe());
            case "hello" -> {
                return hello(r);
            }
            case "identity", "acquire", "release", "extend", "state", "settle" -> {
                if (kind == null) {
                    answer(r, Answer.failure(List.of("other"), r.act() + " before hello"));
                } else {
                    serve(r);
                }
            }
            case "cancel" -> {
                Owner o = pending.get(r.of());
                if (o != null) {
                    o.cancel(r.of());
                }
                answer(r, Answer.ok());
            }
            case "close" -> {
                shutdown();
                answer(r, Answer.ok());
            }
            case "finish" -> {
                shutdown();
                answer(r, finished());
            }
            case "stop" -> {
                answer(r, Answer.ok());
                return false;
            }
            default -> answer(r, Answer.unsupported("no such request: " + r.act()));
        }
        return true;
    }

    private void serve(Request r) {
        switch (r.act()) {
            case "identity" -> answer(r, identity(r.thread()));
            case "settle" -> answer(r, owner(r).settle());
            default -> {
                Owner o = owner(r);
                pending.put(r.id(), o);
                o.submit(r);
            }
        }
    }

    private void answer(Request r, JsonObject a) {
        a.addProperty("id", r.id());
        out.send(a);
    }

    private JsonObject describe() {
        JsonObject a = Answer.ok();
        a.addProperty("protocol", PROTOCOL);
        a.add("locks", Kind.describeAll(version));
        return a;
    }

    private boolean hello(Request r) {
        String spoken = Request.text(r.hello(), "protocol");
        if (!spoken.equals(PROTOCOL)) {
            answer(r, Answer.unsupported("this worker speaks " + PROTOCOL + ", not " + spoken));
            return false;
        }
        String name = Request.text(r.hello(), "lock");
        Kind k = name.isEmpty() ? Kind.PLAIN : Kind.of(name);
        if (k == null) {
            answer(r, Answer.unsupported("no lock " + name));
            return true;
        }
        try {
            clients = Clients.connect(r.hello(), k.primaries);
            WarmUp.of(k, clients, Request.text(r.hello(), "process"));
        } catch (RuntimeException e) {
            answer(r, Answer.failure(List.of("other"), "connect: " + e));
            return true;
        }
        kind = k;
        watchdogNs = TimeUnit.MILLISECONDS.toNanos(clients.get(0).getConfig().getLockWatchdogTimeout());
        JsonObject a = Answer.ok();
        a.addProperty("protocol", PROTOCOL);
        a.addProperty("name", kind.id);
        a.addProperty("version", version);
        answer(r, a);
        return true;
    }

    /** With several primaries an owner has as many identities, one with each client: then it stays untold. */
    private JsonObject identity(String thread) {
        JsonObject a = Answer.ok();
        if (clients.size() == 1) {
            a.addProperty("identity", clients.get(0).getId() + ":" + number(thread));
        }
        return a;
    }

    private Owner owner(Request r) {
        return owners.computeIfAbsent(new OwnerKey(r.lock(), r.thread()), k -> {
            Owner o = new Owner(k.lock, number(k.thread), kind.open(clients, k.lock), kind, watchdogNs, (done, a) -> {
                pending.remove(done.id());
                answer(done, a);
            });
            o.start();
            return o;
        });
    }

    private long number(String thread) {
        return threads.computeIfAbsent(thread, t -> threads.size() + 1L);
    }

    private void shutdown() {
        List<Thread> closing = new ArrayList<>();
        for (RedissonClient c : clients) {
            Thread t = new Thread(() -> c.shutdown(0, FAREWELL_MS, TimeUnit.MILLISECONDS), "holdfast-shutdown");
            t.start();
            closing.add(t);
        }
        Leftovers.await(closing, FAREWELL_MS * 2);
    }

    private JsonObject finished() {
        JsonObject a = Answer.ok();
        String left = leftovers.after(FAREWELL_MS);
        if (!left.isEmpty()) {
            a.addProperty("goroutines", left);
        }
        return a;
    }

    private static String version() {
        Properties p = new Properties();
        try (InputStream in = Worker.class.getResourceAsStream("/adapter.properties")) {
            p.load(in);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException("read the version", e);
        }
        return p.getProperty("redisson.version");
    }
}
