package io.github.holdfastgo.worker;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

/** The locks of a library. */
public interface Locks {

    /** Describes every lock, in the fields of the protocol. */
    JsonArray describe();

    /** The version of the library. */
    String version();

    /** Opens the lock that a hello names; null for a name that no lock has. */
    Opened open(JsonObject hello);

    /** A lock of one process. */
    interface Opened {

        /** The name of the lock. */
        String id();

        /** What the servers know an owner by; "" for nothing that can be told. */
        String identity(long thread);

        /** Makes an owner, a thread that does not run yet, who takes this share of the lock. */
        Owner owner(String lock, long thread, Share share);

        /** Closes the lock as its users do, and returns when that is done or takes too long. */
        void close();
    }
}
