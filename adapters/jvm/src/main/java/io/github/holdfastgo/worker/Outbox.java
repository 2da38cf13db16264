package io.github.holdfastgo.worker;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** Writes messages, each as one whole line. */
public final class Outbox {

    private final OutputStream out;

    public Outbox(OutputStream out) {
        this.out = out;
    }

    public synchronized void send(JsonObject message) {
        try {
            out.write((message + "\n").getBytes(StandardCharsets.UTF_8));
            out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException("write a message", e);
        }
    }
}
