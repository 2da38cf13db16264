package io.github.holdfastgo.spring;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.github.holdfastgo.worker.Locks;
import io.github.holdfastgo.worker.Program;
import io.github.holdfastgo.worker.Request;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** RedisLockRegistry in the ways in which people set it. */
final class SpringLocks implements Locks {

    static final String SPIN = "spring";
    static final String MESSAGES = "spring-pubsub";
    static final String RENEWED = "spring-renewed";

    @Override
    public String version() {
        return Program.version("spring.version");
    }

    @Override
    public JsonArray describe() {
        JsonArray all = new JsonArray();
        all.add(describe(SPIN, "RedisLockRegistry of Spring Integration over Lettuce, looks every 100 ms", "explicit"));
        all.add(describe(MESSAGES, "the same as a PUB_SUB_LOCK, woken by a message", "explicit", "messages"));
        JsonObject renewed = describe(RENEWED, "the same as spring, with a scheduler that renews its holds", "renewal");
        renewed.addProperty("renew_every", 0.35);
        all.add(renewed);
        return all;
    }

    private JsonObject describe(String name, String summary, String... more) {
        List<String> names = new ArrayList<>(List.of("waits", "cancels", "reentrant", "lease"));
        names.addAll(List.of(more));
        JsonObject claims = new JsonObject();
        names.forEach(c -> claims.addProperty(c, true));
        JsonArray reaches = new JsonArray();
        reaches.add("address");
        JsonObject o = new JsonObject();
        o.addProperty("name", name);
        o.addProperty("summary", summary);
        o.addProperty("version", version());
        o.add("claims", claims);
        o.add("reaches", reaches);
        o.addProperty("key", Registry.KEY + ":{name}");
        o.addProperty("holder", "none"); // the value is that of the process, for all its threads
        if (!name.equals(MESSAGES)) {
            o.addProperty("handoff_ns", TimeUnit.MILLISECONDS.toNanos(Registry.IDLE_MS));
        }
        return o;
    }

    @Override
    public Opened open(JsonObject hello) {
        String name = Request.text(hello, "lock");
        if (name.isEmpty()) {
            name = SPIN;
        }
        return List.of(SPIN, MESSAGES, RENEWED).contains(name) ? Registry.connect(name, hello) : null;
    }
}
