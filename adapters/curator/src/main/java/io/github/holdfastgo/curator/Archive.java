package io.github.holdfastgo.curator;

import io.github.holdfastgo.worker.Rehearsal;

/** Rehearses for the archive of classes with a server in the same process. */
final class Archive {

    private Archive() {
    }

    public static void main(String[] args) {
        int status = 1;
        try (LocalServer server = LocalServer.start()) {
            Rehearsal.of(new CuratorLocks(), server.port());
            status = 0;
        } catch (Exception | LinkageError e) {
            e.printStackTrace();
        }
        System.exit(status); // whatever threads the server has
    }
}
