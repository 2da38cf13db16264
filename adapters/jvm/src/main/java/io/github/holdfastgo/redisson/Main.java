package io.github.holdfastgo.redisson;

import io.github.holdfastgo.worker.Program;
import java.io.IOException;

/** A worker of Holdfast with Redisson's locks. */
final class Main {

    private Main() {
    }

    public static void main(String[] args) throws IOException {
        Program.serve(new RedissonLocks());
    }
}
