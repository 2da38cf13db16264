package io.github.holdfastgo.curator;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** A server of ZooKeeper in this process, with its data below "target". */
record LocalServer(ZooKeeperServer server, ServerCnxnFactory door) implements AutoCloseable {

    private static final int TICK_MS = 200;
    private static final int CONNECTIONS = 10;

    static LocalServer start() throws IOException, InterruptedException {
        Path dir = Files.createTempDirectory(Path.of("target"), "server");
        ServerCnxnFactory door = new NIOServerCnxnFactory();
        door.configure(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), CONNECTIONS);
        ZooKeeperServer server = new ZooKeeperServer(dir.toFile(), dir.toFile(), TICK_MS);
        door.startup(server);
        return new LocalServer(server, door);
    }

    int port() {
        return door.getLocalPort();
    }

    /** Ends a session, as the server does when its timeout is over. */
    void end(long session) {
        server.closeSession(session);
    }

    @Override
    public void close() {
        door.shutdown();
    }
}
