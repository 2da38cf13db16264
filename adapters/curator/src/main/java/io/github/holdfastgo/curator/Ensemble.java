package io.github.holdfastgo.curator;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.holdfastgo.worker.Leftovers;
import io.github.holdfastgo.worker.Locks;
import io.github.holdfastgo.worker.Owner;
import io.github.holdfastgo.worker.Request;
import io.github.holdfastgo.worker.Share;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * One client with one session, as a process of Curator's users has it. All durations are Curator's defaults, and the retries
 * those of its guide, multiplied with the time scale; the session's timeout is the lease.
 */
final class Ensemble implements Locks.Opened {

    /** Where the locks lie, as the servers know. */
    private static final String ROOT = "/holdfast";
    private static final int CONNECTION_MS = 15_000;
    private static final int RETRY_MS = 1_000;
    private static final int RETRIES = 3;
    private static final long FAREWELL_MS = TimeUnit.SECONDS.toMillis(2);

    private final String id;
    private final String process;
    private final long leaseNs;
    private final CuratorFramework client;
    private final List<CuratorOwner> owners = new CopyOnWriteArrayList<>();

    private Ensemble(String id, JsonObject hello) {
        this.id = id;
        process = Request.text(hello, "process");
        leaseNs = Request.number(hello, "lease_ns");
        JsonObject redis = hello.getAsJsonObject("redis");
        double scale = redis.has("time_scale") && redis.get("time_scale").getAsDouble() != 0
                ? redis.get("time_scale").getAsDouble() : 1;
        String servers = StreamSupport.stream(redis.getAsJsonArray("primaries").spliterator(), false)
                .map(JsonElement::getAsString).collect(Collectors.joining(","));
        client = CuratorFrameworkFactory.builder().connectString(servers)
                .sessionTimeoutMs((int) TimeUnit.NANOSECONDS.toMillis(leaseNs))
                .connectionTimeoutMs((int) (CONNECTION_MS * scale))
                .retryPolicy(new ExponentialBackoffRetry(Math.max(1, (int) (RETRY_MS * scale)), RETRIES)).build();
        client.getConnectionStateListenable().addListener((c, state) -> {
            if (state == ConnectionState.LOST) {
                owners.forEach(Owner::lose);
            }
        });
    }

    static Ensemble connect(String id, JsonObject hello) {
        Ensemble e = new Ensemble(id, hello);
        e.client.start();
        try {
            // A process that has been up for a while has a session, and its code is loaded.
            e.make("holdfast-warm-up-" + e.process, 0, Share.PLAIN).rehearse();
        } catch (Exception x) {
            e.close();
            throw new IllegalStateException(x);
        }
        return e;
    }

    private CuratorOwner make(String lock, long thread, Share share) {
        String path = ROOT + "/" + escaped(lock);
        return switch (id) {
            case CuratorLocks.LATCH -> new LatchOwner(lock, thread, client, path, process, leaseNs);
            case CuratorLocks.SEMAPHORE -> new SemaphoreOwner(lock, thread, client, path, CuratorLocks.PERMITS, share.permits(), leaseNs);
            case CuratorLocks.READ_WRITE -> MutexOwner.ofBoth(lock, thread, client, path, leaseNs, share.shared());
            default -> MutexOwner.exclusive(lock, thread, client, path, leaseNs, id.equals(CuratorLocks.FENCED));
        };
    }

    @Override
    public String id() {
        return id;
    }

    /** Nodes have the number of a session, which every owner of the process shares. */
    @Override
    public String identity(long thread) {
        return "";
    }

    @Override
    public Owner owner(String lock, long thread, Share share) {
        CuratorOwner o = make(lock, thread, share);
        if (!(o instanceof LatchOwner)) { // a latch has a listener of its own
            owners.add(o);
        }
        return o;
    }

    @Override
    public void close() {
        Thread t = new Thread(client::close, "holdfast-shutdown");
        t.start();
        Leftovers.await(List.of(t), FAREWELL_MS);
    }

    /** Escapes a name as the servers' own adapter does, for a segment of a path. */
    private static String escaped(String name) {
        StringBuilder s = new StringBuilder();
        for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
            boolean plain = b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b > 0 && "-_.~$&+:=@".indexOf(b) >= 0;
            s.append(plain ? String.valueOf((char) b) : String.format("%%%02X", b));
        }
        return s.toString();
    }
}
