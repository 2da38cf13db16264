package io.github.holdfastgo.worker;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

/** A request of the harness. Durations are in nanoseconds, and 0 where the request has none. */
public record Request(long id, String act, String lock, String thread, long waitNs, long leaseNs, Share share,
        boolean canceled, long of, JsonObject hello) {

    public static Request parse(String line) {
        JsonObject o = JsonParser.parseString(line).getAsJsonObject();
        return new Request(number(o, "id"), text(o, "do"), text(o, "lock"), text(o, "thread"), number(o, "wait_ns"),
                number(o, "lease_ns"), new Share(text(o, "mode").equals("shared"), Math.max(1, (int) number(o, "permits"))), o.has("canceled") && o.get("canceled").getAsBoolean(), number(o, "of"),
                o.getAsJsonObject("hello"));
    }

    public static String text(JsonObject o, String field) {
        JsonElement e = o.get(field);
        return e == null || e.isJsonNull() ? "" : e.getAsString();
    }

    public static long number(JsonObject o, String field) {
        JsonElement e = o.get(field);
        return e == null || e.isJsonNull() ? 0 : e.getAsLong();
    }
}
