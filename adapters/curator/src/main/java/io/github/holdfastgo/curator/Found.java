package io.github.holdfastgo.curator;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryOneTime;

/** Shows on one server in this process what docs/findings/zookeeper.md says of a lock whose session has ended, and of a leader whose node is gone. */
final class Found {

    private static final int SESSION_MS = 2_000;
    private static final long LONGEST_MS = 30_000;

    private Found() {
    }

    public static void main(String[] args) {
        int status = 1;
        try (LocalServer server = LocalServer.start()) {
            status = show(server) & showLatch(server) ? 0 : 1;
        } catch (Exception e) {
            e.printStackTrace();
        }
        System.exit(status); // whatever threads the server has
    }

    private static boolean show(LocalServer server) throws Exception {
        CountDownLatch lost = new CountDownLatch(1);
        CountDownLatch back = new CountDownLatch(1);
        try (CuratorFramework client = CuratorFrameworkFactory.newClient("127.0.0.1:" + server.port(), SESSION_MS, SESSION_MS,
                new RetryOneTime(SESSION_MS))) {
            client.getConnectionStateListenable().addListener((c, state) -> {
                if (state == ConnectionState.LOST) {
                    lost.countDown();
                } else if (state == ConnectionState.RECONNECTED && lost.getCount() == 0) {
                    back.countDown();
                }
            });
            client.start();
            InterProcessMutex mutex = new InterProcessMutex(client, "/found");
            mutex.acquire();
            server.end(client.getZookeeperClient().getZooKeeper().getSessionId());
            if (!lost.await(LONGEST_MS, TimeUnit.MILLISECONDS) || !back.await(LONGEST_MS, TimeUnit.MILLISECONDS)) {
                System.err.println("the loss of the session was not told");
                return false;
            }
            boolean again = mutex.acquire(0, TimeUnit.MILLISECONDS) && mutex.getParticipantNodes().isEmpty();
            System.out.println((again ? "as found" : "GONE") + ": after a loss the same thread acquires, and has no node");
            mutex.release();
            mutex.release(); // throws where it says that nothing was held
            System.out.println("as found: a release of a hold whose session has ended succeeds");
            return again;
        }
    }

    private static boolean showLatch(LocalServer server) throws Exception {
        try (CuratorFramework client = CuratorFrameworkFactory.newClient("127.0.0.1:" + server.port(), new RetryOneTime(SESSION_MS));
                LeaderLatch first = new LeaderLatch(client, "/found-latch", "first");
                LeaderLatch second = new LeaderLatch(client, "/found-latch", "second")) {
            client.start();
            first.start();
            first.await();
            second.start();
            while (second.getParticipants().size() < 2) {
                Thread.onSpinWait();
            }
            client.delete().forPath(first.getOurPath());
            boolean two = second.await(LONGEST_MS, TimeUnit.MILLISECONDS) && first.hasLeadership();
            System.out.println((two ? "as found" : "GONE") + ": a latch whose node was deleted leads on beside the next one");
            return two;
        }
    }
}
