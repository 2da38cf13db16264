package io.github.holdfastgo.redisson;

import io.github.holdfastgo.worker.Rehearsal;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Rehearses for the archive of classes with a server that answers just enough for that. */
final class Archive {

    private static final AtomicInteger TRIES = new AtomicInteger();

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
            Rehearsal.of(new RedissonLocks(), server.getLocalPort());
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

    private static void serve(Socket client) throws IOException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(client.getInputStream()))) {
            while (true) {
                List<String> words = new ArrayList<>();
                for (int n = length(in); n > 0; n--) {
                    words.add(new String(in.readNBytes(length(in) + 2), StandardCharsets.US_ASCII).trim());
                }
                client.getOutputStream().write(answer(words).getBytes(StandardCharsets.US_ASCII));
            }
        }
    }

    private static String answer(List<String> words) {
        return switch (words.get(0).toUpperCase()) {
            case "PING" -> "+PONG\r\n";
            case "EVAL", "EVALSHA" -> script(words);
            case "SUBSCRIBE", "UNSUBSCRIBE" -> "*3\r\n" + bulk(words.get(0).toLowerCase()) + bulk(words.get(1)) + ":1\r\n";
            case "DEL" -> ":1\r\n";
            default -> "+OK\r\n";
        };
    }

    private static String bulk(String text) {
        return "$" + text.length() + "\r\n" + text + "\r\n";
    }

    /** Keeps an acquire waiting for a millisecond, then grants it. Scripts with more keys than one release. */
    private static String script(List<String> words) {
        if (!words.get(2).equals("1")) {
            return ":1\r\n";
        }
        return TRIES.getAndIncrement() < 2 ? ":1\r\n" : "$-1\r\n";
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
