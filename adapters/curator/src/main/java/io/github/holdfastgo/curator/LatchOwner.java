package io.github.holdfastgo.curator;

import io.github.holdfastgo.worker.Grant;
import io.github.holdfastgo.worker.Request;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.zookeeper.KeeperException;

/** An owner that leads by a LeaderLatch, a new one for each campaign. */
final class LatchOwner extends CuratorOwner {

    /** How long one try waits: the latch learns from its server, in the background, that nobody leads. */
    private static final long TRY_NS = TimeUnit.MILLISECONDS.toNanos(500);

    private final String path;
    private final String process;
    private final long leaseNs;
    private LeaderLatch latch; // null while the owner is no candidate
    private volatile boolean lost;

    LatchOwner(String lock, long thread, CuratorFramework client, String path, String process, long leaseNs) {
        super(lock, thread, client);
        this.path = path;
        this.process = process;
        this.leaseNs = leaseNs;
    }

    @Override
    void rehearse() throws Exception {
        campaign(-1);
        holder();
        giveBack();
    }

    @Override
    protected Grant take(Request r) throws Exception {
        return campaign(r.waitNs()) ? new Grant(0, leaseNs, true) : null;
    }

    private boolean campaign(long waitNs) throws Exception {
        LeaderLatch candidate = new LeaderLatch(client, path, process + "/" + thread());
        lost = false;
        candidate.addListener(new LeaderLatchListener() {
            @Override
            public void isLeader() {
                // The thread that awaits is told.
            }

            @Override
            public void notLeader() {
                lost = true;
                lose();
            }
        });
        candidate.start();
        boolean leads = false;
        try {
            if (waitNs < 0) {
                candidate.await();
                leads = true;
            } else {
                leads = candidate.await(Math.max(waitNs, TRY_NS), TimeUnit.NANOSECONDS);
            }
        } finally {
            if (!leads) {
                candidate.close();
            }
        }
        latch = leads ? candidate : null;
        return leads;
    }

    /** Resigns. A leader that has been told of its loss may lead again by now; the harness counts a new hold only from a campaign. */
    @Override
    protected void giveBack() throws Exception {
        if (latch == null) {
            throw new IllegalMonitorStateException("no candidate");
        }
        boolean led = latch.hasLeadership() && !lost;
        LeaderLatch resigning = latch;
        latch = null;
        resigning.close(LeaderLatch.CloseMode.SILENT);
        if (!led) {
            throw new IllegalMonitorStateException("the latch does not lead");
        }
    }

    @Override
    protected String holder() throws Exception {
        try {
            return new LeaderLatch(client, path).getLeader().getId();
        } catch (KeeperException.NoNodeException e) {
            return ""; // nobody has ever been a candidate
        }
    }

    @Override
    String node() {
        return latch == null ? null : latch.getOurPath();
    }
}
