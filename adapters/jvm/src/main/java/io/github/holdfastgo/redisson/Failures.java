package io.github.holdfastgo.redisson;

import com.google.gson.JsonObject;
import io.github.holdfastgo.worker.Answer;
import java.util.List;
import org.redisson.RedissonShutdownException;
import org.redisson.client.RedisConnectionException;
import org.redisson.client.RedisException;
import org.redisson.client.RedisNodeNotFoundException;
import org.redisson.client.RedisReconnectedException;
import org.redisson.client.RedisRetryException;
import org.redisson.client.RedisTimeoutException;
import org.redisson.command.NoSyncedSlavesException;

/** What Redisson's exceptions mean, in the protocol's classes. */
final class Failures {

    private Failures() {
    }

    /**
     * Tells of an operation that ended with an exception.
     *
     * @param givesBack whether the lock gives an acquire back that no replica has confirmed, which is what has failed
     */
    static JsonObject answer(Exception e, boolean givesBack) {
        return Answer.failure(classes(e, givesBack), e.toString());
    }

    private static List<String> classes(Exception e, boolean givesBack) {
        if (e instanceof InterruptedException) {
            return List.of("canceled"); // thrown where no command is under way
        }
        if (e.getCause() instanceof InterruptedException) {
            return List.of("unknown", "canceled"); // thrown where the reply to one was waited for
        }
        if (e instanceof IllegalMonitorStateException) {
            return List.of("not-held");
        }
        if (e instanceof UnsupportedOperationException) {
            return List.of("unsupported");
        }
        if (e instanceof RedissonShutdownException) {
            return List.of("closed");
        }
        if (isOrHas(e, NoSyncedSlavesException.class)) {
            return List.of(givesBack ? "no-acks" : "unknown");
        }
        return List.of(isUnclear(e) ? "unknown" : "other");
    }

    /**
     * Whether the request may have been carried out. Redisson sends again, so that an error of the last attempt says
     * nothing of those before; what a server answers to a script that it did run or refuse is final.
     */
    private static boolean isUnclear(Exception e) {
        return e instanceof RedisTimeoutException || e instanceof RedisConnectionException
                || e instanceof RedisRetryException || e instanceof RedisNodeNotFoundException
                || e instanceof RedisReconnectedException
                || e instanceof RedisException && e.getCause() != null;
    }

    private static boolean isOrHas(Throwable e, Class<? extends Throwable> type) {
        for (; e != null; e = e.getCause()) {
            if (type.isInstance(e)) {
                return true;
            }
        }
        return false;
    }
}
