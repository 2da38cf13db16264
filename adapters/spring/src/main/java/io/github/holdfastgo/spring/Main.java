package io.github.holdfastgo.spring;

import io.github.holdfastgo.worker.Program;
import java.io.IOException;

/** A worker of Holdfast with the lock of Spring Integration. */
final class Main {

    private Main() {
    }

    public static void main(String[] args) throws IOException {
        Program.serve(new SpringLocks());
    }
}
