package io.github.holdfastgo.redisson;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.holdfastgo.worker.Request;
import io.netty.resolver.AddressResolver;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.DefaultNameResolver;
import io.netty.util.concurrent.EventExecutor;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.BaseConfig;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.DelayStrategy;
import org.redisson.config.HostPortNatMapper;
import org.redisson.config.ReadMode;
import org.redisson.config.SentinelServersConfig;
import org.redisson.config.SingleServerConfig;
import org.redisson.config.SubscriptionMode;

/**
 * Makes Redisson's clients from a hello. They have Redisson's defaults, all durations multiplied with the time scale;
 * only pools and threads are fewer, and everything goes to primaries, as locks do anyway.
 */
final class Clients {

    private static final int POOL = 16;
    private static final int IDLE = 2;

    private final JsonObject redis;
    private final long leaseMs;
    private final boolean replicated;
    private final double scale;

    private Clients(JsonObject hello) {
        redis = hello.getAsJsonObject("redis");
        leaseMs = TimeUnit.NANOSECONDS.toMillis(Request.number(hello, "lease_ns"));
        replicated = Request.number(hello, "replicas") > 0;
        scale = redis.has("time_scale") && redis.get("time_scale").getAsDouble() != 0
                ? redis.get("time_scale").getAsDouble() : 1;
    }

    /** Connects to the primaries 1 to n, each with a client of its own. */
    static List<RedissonClient> connect(JsonObject hello, int n) {
        Clients c = new Clients(hello);
        List<RedissonClient> all = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            all.add(Redisson.create(c.config(i)));
        }
        return all;
    }

    private Config config(int primary) {
        Config c = new Config();
        c.setThreads(4).setNettyThreads(2);
        c.setAddressResolverGroupFactory((datagrams, sockets, servers) -> new JdkNames());
        if (leaseMs > 0) {
            c.setLockWatchdogTimeout(leaseMs);
        } else {
            c.setLockWatchdogTimeout(scaled(c.getLockWatchdogTimeout()));
        }
        c.setFairLockWaitTimeout(scaled(c.getFairLockWaitTimeout()));
        c.setSlavesSyncTimeout(scaled(c.getSlavesSyncTimeout()));

        List<String> sentinels = strings("sentinels");
        List<String> primaries = strings("primaries");
        if (redis.has("cluster") && redis.get("cluster").getAsBoolean()) {
            cluster(c.useClusterServers(), primaries);
        } else if (!sentinels.isEmpty()) {
            sentinel(c.useSentinelServers(), sentinels, strings("masters").get(primary));
        } else if (replicated) {
            // What tells Redisson that there are replicas to wait for. Nothing else is wanted of them.
            onPrimaries(c.useMasterSlaveServers()).setMasterAddress(url(primaries.get(primary)));
        } else {
            single(c.useSingleServer()).setAddress(url(primaries.get(primary)));
        }
        return c;
    }

    private void cluster(ClusterServersConfig c, List<String> nodes) {
        onPrimaries(c).setNatMapper(mapper()).setScanInterval(scaled(c.getScanInterval()));
        nodes.forEach(n -> c.addNodeAddress(url(n)));
    }

    private void sentinel(SentinelServersConfig c, List<String> sentinels, String master) {
        onPrimaries(c).setNatMapper(mapper()).setScanInterval(scaled(c.getScanInterval())).setMasterName(master);
        sentinels.forEach(s -> c.addSentinelAddress(url(s)));
    }

    private <T extends BaseMasterSlaveServersConfig<T>> T onPrimaries(T c) {
        scale(c);
        c.setDnsMonitoringInterval(scaled(c.getDnsMonitoringInterval()));
        return c.setReadMode(ReadMode.MASTER).setSubscriptionMode(SubscriptionMode.MASTER)
                .setMasterConnectionMinimumIdleSize(IDLE).setMasterConnectionPoolSize(POOL);
    }

    private SingleServerConfig single(SingleServerConfig c) {
        scale(c);
        c.setDnsMonitoringInterval(scaled(c.getDnsMonitoringInterval()));
        return c.setConnectionMinimumIdleSize(IDLE).setConnectionPoolSize(POOL);
    }

    /** Multiplies every default that is a duration. */
    private void scale(BaseConfig<?> c) {
        c.setTimeout(scaled(c.getTimeout()));
        c.setConnectTimeout(scaled(c.getConnectTimeout()));
        c.setSubscriptionTimeout(scaled(c.getSubscriptionTimeout()));
        c.setIdleConnectionTimeout(scaled(c.getIdleConnectionTimeout()));
        c.setPingConnectionInterval(scaled(c.getPingConnectionInterval()));
        c.setRetryDelay(scaled(c.getRetryDelay()));
        c.setReconnectionDelay(scaled(c.getReconnectionDelay()));
    }

    private DelayStrategy scaled(DelayStrategy whole) {
        return attempt -> whole.calcDelay(attempt).multipliedBy(Math.round(scale * 1000)).dividedBy(1000);
    }

    private int scaled(int ms) {
        return (int) scaled((long) ms);
    }

    /** Keeps what stands for "never". */
    private long scaled(long ms) {
        return ms <= 0 ? ms : Math.max(1, Math.round(ms * scale));
    }

    private HostPortNatMapper mapper() {
        Map<String, String> to = new HashMap<>();
        if (redis.has("map")) {
            redis.getAsJsonObject("map").entrySet().forEach(e -> to.put(e.getKey(), e.getValue().getAsString()));
        }
        HostPortNatMapper m = new HostPortNatMapper();
        m.setHostsPortMap(to);
        return m;
    }

    private List<String> strings(String field) {
        List<String> all = new ArrayList<>();
        if (redis.has(field) && redis.get(field).isJsonArray()) {
            for (JsonElement e : redis.getAsJsonArray(field)) {
                all.add(e.getAsString());
            }
        }
        return all;
    }

    /** Names by the JDK: Netty's resolver opens a UDP socket that the whole network reaches, and every address is a number. */
    private static final class JdkNames extends AddressResolverGroup<InetSocketAddress> {
        @Override
        protected AddressResolver<InetSocketAddress> newResolver(EventExecutor executor) {
            return new DefaultNameResolver(executor).asAddressResolver();
        }
    }

    private static String url(String address) {
        return "redis://" + address;
    }
}
