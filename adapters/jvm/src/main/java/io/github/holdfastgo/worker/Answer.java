package io.github.holdfastgo.worker;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.List;

/** Answers of the protocol, without the id of their request. */
public final class Answer {

    private static final int MOST_TEXT = 60_000;

    private Answer() {
    }

    public static JsonObject ok() {
        JsonObject o = new JsonObject();
        o.addProperty("ok", true);
        return o;
    }

    public static JsonObject failure(List<String> classes, String message) {
        JsonObject o = new JsonObject();
        JsonArray errors = new JsonArray();
        classes.forEach(errors::add);
        o.add("errors", errors);
        o.addProperty("message", message.substring(0, Math.min(message.length(), MOST_TEXT)));
        return o;
    }

    public static JsonObject unsupported(String message) {
        return failure(List.of("unsupported"), message);
    }
}
