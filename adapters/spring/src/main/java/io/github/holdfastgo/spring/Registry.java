package io.github.holdfastgo.spring;

import com.google.gson.JsonObject;
import io.github.holdfastgo.worker.Locks;
import io.github.holdfastgo.worker.Owner;
import io.github.holdfastgo.worker.Rehearsal;
import io.github.holdfastgo.worker.Request;
import io.github.holdfastgo.worker.Share;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.lettuce.core.resource.Delay;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** One registry and one connection factory for each process. Their defaults are multiplied with the time scale. */
final class Registry implements Locks.Opened {

    static final String KEY = "holdfast";
    static final long IDLE_MS = 100;
    private static final long EXPIRE_MS = 60_000;
    private static final long COMMAND_MS = 60_000;
    private static final long CONNECT_MS = 10_000;
    private static final long RECONNECT_MS = 30_000;
    private static final long WARM_UP_MS = 50;
    private static final int ROUNDS = 10;

    private final String id;
    private final double scale;
    private final Duration lease;
    private final ClientResources resources;
    private final LettuceConnectionFactory factory;
    private final ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
    private final RedisLockRegistry registry;

    private Registry(String id, JsonObject hello) {
        this.id = id;
        JsonObject redis = hello.getAsJsonObject("redis");
        scale = redis.has("time_scale") && redis.get("time_scale").getAsDouble() != 0
                ? redis.get("time_scale").getAsDouble() : 1;
        long leaseNs = Request.number(hello, "lease_ns");
        lease = leaseNs == 0 ? scaled(EXPIRE_MS) : Duration.ofMillis(TimeUnit.NANOSECONDS.toMillis(leaseNs));
        resources = DefaultClientResources.builder()
                .reconnectDelay(Delay.exponential(Duration.ZERO, scaled(RECONNECT_MS), 2, TimeUnit.MILLISECONDS)).build();
        String[] address = redis.getAsJsonArray("primaries").get(0).getAsString().split(":");
        factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration(address[0], Integer.parseInt(address[1])),
                LettuceClientConfiguration.builder().clientResources(resources).commandTimeout(scaled(COMMAND_MS))
                        .clientOptions(ClientOptions.builder()
                                .socketOptions(SocketOptions.builder().connectTimeout(scaled(CONNECT_MS)).build()).build())
                        .build());
        factory.afterPropertiesSet();
        factory.start();
        registry = registry();
        if (id.equals(SpringLocks.RENEWED)) {
            scheduler.initialize();
            registry.setRenewalTaskScheduler(scheduler);
        }
    }

    private RedisLockRegistry registry() {
        RedisLockRegistry r = new RedisLockRegistry(factory, KEY, lease.toMillis());
        r.setIdleBetweenTries(scaled(IDLE_MS));
        if (id.equals(SpringLocks.MESSAGES)) {
            r.setRedisLockType(RedisLockType.PUB_SUB_LOCK);
        }
        return r;
    }

    private Duration scaled(long ms) {
        return Duration.ofMillis(Math.max(1, Math.round(ms * scale)));
    }

    /** Connects, and makes the process one that has been up for a while: its code is loaded and compiled. */
    static Registry connect(String id, JsonObject hello) {
        Registry r = new Registry(id, hello);
        String name = "holdfast-warm-up-" + Request.text(hello, "process");
        RedisLockRegistry other = r.registry();
        try {
            // Its hold expires, and the lock that the run uses waits for it.
            other.obtain(name).tryLock(Duration.ZERO, Duration.ofMillis(WARM_UP_MS));
            if (r.registry.obtain(name).tryLock(Duration.ofMillis(4 * WARM_UP_MS), Duration.ofMillis(EXPIRE_MS))) {
                r.registry.obtain(name).unlock();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted, which nobody does", e);
        } finally {
            other.destroy();
        }
        Rehearsal.of(r, name, TimeUnit.MILLISECONDS.toNanos(EXPIRE_MS), ROUNDS);
        return r;
    }

    @Override
    public String id() {
        return id;
    }

    /** The value of a key is the registry's, which all owners of the process share. */
    @Override
    public String identity(long thread) {
        return "";
    }

    @Override
    public Owner owner(String lock, long thread, Share share) {
        return new SpringOwner(lock, thread, registry.obtain(lock), lease, id.equals(SpringLocks.RENEWED));
    }

    @Override
    public void close() {
        registry.destroy();
        scheduler.shutdown();
        factory.destroy();
        resources.shutdown(0, 1, TimeUnit.SECONDS).awaitUninterruptibly(2, TimeUnit.SECONDS);
    }
}
