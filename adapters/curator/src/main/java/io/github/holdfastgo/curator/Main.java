package io.github.holdfastgo.curator;

import io.github.holdfastgo.worker.Program;
import java.io.IOException;

/** A worker of Holdfast with Curator's lock. */
final class Main {

    private Main() {
    }

    public static void main(String[] args) throws IOException {
        Program.serve(new CuratorLocks());
    }
}
