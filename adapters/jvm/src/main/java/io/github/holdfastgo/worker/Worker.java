package io.github.holdfastgo.worker;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** Does what the harness asks. Requests come from one thread; operations on locks run in those of their owners. */
public final class Worker {

    private static final String PROTOCOL = "holdfast-worker/1";
    /**
     * How long what is left of a lock may live on after its end. Netty's GlobalEventExecutor ends once it had nothing
     * to do for a second; on a busy machine that takes longer.
     */
    private static final long FAREWELL_MS = TimeUnit.SECONDS.toMillis(5);

    private record OwnerKey(String lock, String thread, boolean shared) {
    }

    private final Locks locks;
    private final Outbox out;
    private final Leftovers leftovers = new Leftovers();
    private final Map<OwnerKey, Owner> owners = new ConcurrentHashMap<>();
    private final Map<String, Long> threads = new ConcurrentHashMap<>();
    private final Map<Long, Owner> pending = new ConcurrentHashMap<>(); // by request

    private Locks.Opened opened; // null before the hello
    private boolean closed;

    public Worker(Locks locks, Outbox out) {
        this.locks = locks;
        this.out = out;
    }

    /** A worker that is past its hello. */
    Worker(Locks.Opened opened, Outbox out) {
        this.locks = null;
        this.out = out;
        this.opened = opened;
    }

    /** Answers a request, or has it answered; false means that the process is to stop. */
    public boolean handle(String line) {
        Request r = Request.parse(line);
        switch (r.act()) {
            case "describe" -> answer(r, describe());
            case "hello" -> {
                return hello(r);
            }
            case "identity", "acquire", "release", "extend", "state", "settle", "observe" -> {
                if (opened == null) {
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
                close();
                answer(r, Answer.ok());
            }
            case "finish" -> {
                close();
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
        a.add("locks", locks.describe());
        return a;
    }

    private boolean hello(Request r) {
        String spoken = Request.text(r.hello(), "protocol");
        if (!spoken.equals(PROTOCOL)) {
            answer(r, Answer.unsupported("this worker speaks " + PROTOCOL + ", not " + spoken));
            return false;
        }
        try {
            opened = locks.open(r.hello());
        } catch (RuntimeException e) {
            answer(r, Answer.failure(List.of("other"), "connect: " + e));
            return true;
        }
        if (opened == null) {
            answer(r, Answer.unsupported("no lock " + Request.text(r.hello(), "lock")));
            return true;
        }
        JsonObject a = Answer.ok();
        a.addProperty("protocol", PROTOCOL);
        a.addProperty("name", opened.id());
        a.addProperty("version", locks.version());
        answer(r, a);
        return true;
    }

    private JsonObject identity(String thread) {
        JsonObject a = Answer.ok();
        String known = opened.identity(number(thread));
        if (!known.isEmpty()) {
            a.addProperty("identity", known);
        }
        return a;
    }

    private Owner owner(Request r) {
        return owners.computeIfAbsent(new OwnerKey(r.lock(), r.thread(), r.share().shared()), k -> {
            Owner o = opened.owner(k.lock, number(k.thread), r.share());
            o.start(k.thread, (done, a) -> {
                pending.remove(done.id());
                answer(done, a);
            }, out::send);
            return o;
        });
    }

    private long number(String thread) {
        return threads.computeIfAbsent(thread, t -> threads.size() + 1L);
    }

    private void close() {
        if (opened != null && !closed) {
            closed = true;
            opened.close();
        }
    }

    private JsonObject finished() {
        JsonObject a = Answer.ok();
        JsonArray left = new JsonArray();
        leftovers.after(FAREWELL_MS).forEach(left::add);
        if (!left.isEmpty()) {
            a.add("goroutines", left);
        }
        return a;
    }
}
