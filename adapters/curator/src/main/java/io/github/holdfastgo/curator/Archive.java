package io.github.holdfastgo.curator;

import io.github.holdfastgo.worker.Rehearsal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** Rehearses for the archive of classes with a server in the same process. */
final class Archive {

    private static final int TICK_MS = 200;
    private static final int CONNECTIONS = 10;

    private Archive() {
    }

    public static void main(String[] args) {
        int status = 1;
        try {
            rehearse();
            status = 0;
        } catch (Exception | LinkageError e) {
            e.printStackTrace();
        }
        System.exit(status); // whatever threads the server has
    }

    private static void rehearse() throws Exception {
        Path dir = Files.createTempDirectory(Path.of("target"), "rehearsal");
        ServerCnxnFactory f = new NIOServerCnxnFactory();
        f.configure(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), CONNECTIONS);
        f.startup(new ZooKeeperServer(dir.toFile(), dir.toFile(), TICK_MS));
        Rehearsal.of(new CuratorLocks(), f.getLocalPort());
        f.shutdown();
    }
}
