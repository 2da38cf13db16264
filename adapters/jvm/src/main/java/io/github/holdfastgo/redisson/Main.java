package io.github.holdfastgo.redisson;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** A worker of Holdfast with Redisson's locks. It reads requests until it is told to stop, or until they end. */
final class Main {

    private Main() {
    }

    public static void main(String[] args) throws IOException {
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> {
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
        });
        Worker worker = new Worker(new Outbox(takeStandardOutput()));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (!line.isEmpty() && !worker.handle(line)) {
                break;
            }
        }
        // Redisson's threads, some of which are no daemons, are not waited for.
        Runtime.getRuntime().halt(0);
    }

    /** Whatever else prints goes to standard error. */
    private static FileOutputStream takeStandardOutput() {
        System.setOut(new PrintStream(System.err, true));
        return new FileOutputStream(FileDescriptor.out);
    }
}
