package io.github.holdfastgo.curator;

import com.google.gson.JsonObject;
import io.github.holdfastgo.worker.Answer;
import java.util.List;
import org.apache.zookeeper.KeeperException;

/** What Curator's exceptions mean, in the protocol's classes. */
final class Failures {

    private Failures() {
    }

    static JsonObject answer(Exception e) {
        return Answer.failure(classes(e), e.toString());
    }

    private static List<String> classes(Exception e) {
        if (e instanceof InterruptedException || e.getCause() instanceof InterruptedException) {
            return List.of("unknown", "canceled"); // Curator does not say whether a request was under way
        }
        if (e instanceof IllegalMonitorStateException) {
            return List.of("not-held");
        }
        if (e instanceof IllegalStateException) {
            return List.of("closed"); // "Expected state [STARTED] was [STOPPED]"
        }
        return List.of(e instanceof KeeperException || e instanceof java.io.IOException ? "unknown" : "other");
    }
}
