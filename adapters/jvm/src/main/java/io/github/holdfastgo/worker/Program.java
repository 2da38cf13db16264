package io.github.holdfastgo.worker;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Properties;

/** A process that reads requests until it is told to stop, or until they end. */
public final class Program {

    private Program() {
    }

    /** Serves locks. It does not return: the threads of a library, some of which are no daemons, are not waited for. */
    public static void serve(Locks locks) throws IOException {
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> {
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
        });
        Worker worker = new Worker(locks, new Outbox(takeStandardOutput()));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (!line.isEmpty() && !worker.handle(line)) {
                break;
            }
        }
        Runtime.getRuntime().halt(0);
    }

    /** Whatever else prints goes to standard error. */
    private static FileOutputStream takeStandardOutput() {
        System.setOut(new PrintStream(System.err, true));
        return new FileOutputStream(FileDescriptor.out);
    }

    /** Reads the version of the library, as the build has noted it. */
    public static String version(String property) {
        Properties p = new Properties();
        try (InputStream in = Program.class.getResourceAsStream("/adapter.properties")) {
            p.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException("read the version", e);
        }
        return p.getProperty(property);
    }
}
