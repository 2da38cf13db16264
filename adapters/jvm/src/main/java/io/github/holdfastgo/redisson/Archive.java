package io.github.holdfastgo.redisson;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The last step of the build: plays through a start, an acquire and a release, so that the JVM can archive the classes
 * that they load and later starts are quicker. The server answers just enough for that.
 */
final class Archive {

    private static final long LONGEST_MS = 10_000;

    private Archive() {
    }

    public static void main(String[] args) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            daemon(() -> {
                while (true) {
                    Socket client = server.accept();
                    daemon(() -> serve(client));
                }
            });
            CountDownLatch answered = new CountDownLatch(4);
            Worker worker = new Worker(new Outbox(new OutputStream() {
                @Override
                public void write(int b) {
                    if (b == '\n') {
                        answered.countDown();
                    }
                }
            }));
            worker.handle("{\"id\":1,\"do\":\"describe\"}");
            worker.handle(("{\"id\":2,\"do\":\"hello\",\"hello\":{\"protocol\":\"holdfast-worker/1\",\"lease_ns\":1000000000,"
                    + "\"redis\":{\"primaries\":[\"127.0.0.1:%d\"]}}}").formatted(server.getLocalPort()));
            worker.handle("{\"id\":3,\"do\":\"acquire\",\"lock\":\"archive\",\"thread\":\"1\"}");
            worker.handle("{\"id\":4,\"do\":\"release\",\"lock\":\"archive\",\"thread\":\"1\"}");
            if (!answered.await(LONGEST_MS, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("no answers from the worker");
            }
            worker.handle("{\"id\":5,\"do\":\"finish\"}");
        }
        System.exit(0);
    }

    private interface Task {
        void run() throws IOException;
    }

    private static void daemon(Task task) {
        Thread t = new Thread(() -> {
            try {
                task.run();
            } catch (IOException e) {
                // The connection or the server was closed, which is how both end.
            }
        }, "holdfast-archive");
        t.setDaemon(true);
        t.start();
    }

    /** Grants every acquire with a nil, which is an error to a release and good enough here. */
    private static void serve(Socket client) throws IOException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(client.getInputStream()))) {
            while (true) {
                String command = "";
                int words = length(in);
                for (int i = 0; i < words; i++) {
                    byte[] word = in.readNBytes(length(in) + 2);
                    if (i == 0) {
                        command = new String(word, StandardCharsets.US_ASCII).trim().toUpperCase();
                    }
                }
                String answer = switch (command) {
                    case "PING" -> "+PONG\r\n";
                    case "EVAL", "EVALSHA" -> "$-1\r\n";
                    case "DEL" -> ":1\r\n";
                    default -> "+OK\r\n";
                };
                client.getOutputStream().write(answer.getBytes(StandardCharsets.US_ASCII));
            }
        }
    }

    /** Reads "*3" or "$5" and the end of its line. */
    private static int length(DataInputStream in) throws IOException {
        in.readByte();
        StringBuilder digits = new StringBuilder();
        for (byte b = in.readByte(); b != '\r'; b = in.readByte()) {
            digits.append((char) b);
        }
        in.readByte();
        return Integer.parseInt(digits.toString());
    }
}
