"""redis-py's Lock: what it promises, and what an owner does with one."""

from redis import __version__
from redis.exceptions import (
    ClusterDownError,
    ConnectionError,
    LockError,
    LockNotOwnedError,
    RedisClusterException,
    TimeoutError,
)

from failure import Failure
from servers import connect

SLEEP = 0.1  # between two looks of a waiter, redis-py's default, in seconds

_AGAIN = "redis-py sends a command again when its connection breaks, ten times by default. "
_KNOWN = [
    {
        "scenario": "lost-acquire-reply",
        "property": property,
        "because": _AGAIN + "The second SET NX finds the key that the first one set, so acquire() returns "
        "False while the server has the lock for its caller, and it stays there until its lease ends.",
    }
    for property in ("linearizable", "errors")
] + [
    {
        "scenario": "lost-release-reply",
        "property": property,
        "because": _AGAIN + "The second release finds nothing to delete and raises LockNotOwnedError, "
        "although the first has worked.",
    }
    for property in ("linearizable", "errors")
] + [
    {
        "scenario": scenario,
        "property": property,
        "because": _AGAIN + "acquire() looks at its wait between two tries only, and what was sent before may still "
        "arrive: the caller is told late, and may be refused by its own key.",
    }
    for scenario in ("kept-away", "unheard-grant")
    for property in ("progress", "linearizable", "errors")
]
_STALE = [
    {
        "scenario": "stale-grant",
        "property": property,
        "because": "acquire() does not look how old the grant is when its reply comes (redis/lock.py:243).",
    }
    for property in ("lease", "exclusion")
]
_ORPHAN = [
    {
        "scenario": scenario,
        "property": property,
        "because": _AGAIN + "Without a timeout the key that the first SET NX set is never removed.",
    }
    for scenario in ("lost-acquire-reply", "kept-away", "unheard-grant")
    for property in ("progress", "cleanup")
    if (scenario, property) not in (("kept-away", "progress"), ("unheard-grant", "progress"))
]

DESCRIPTIONS = [
    {
        "name": "redis-py",
        "summary": "redis-py's Lock with a timeout",
        "version": __version__,
        "claims": {"waits": True, "lease": True, "explicit": True, "extends": True},
        "handoff_ns": int(SLEEP * 1e9),
        "key": "{name}",
        "known": _KNOWN + _STALE,
    },
    {
        "name": "redis-py-no-timeout",
        "summary": "redis-py's Lock without a timeout, as it is by default",
        "version": __version__,
        "claims": {"waits": True},
        "handoff_ns": int(SLEEP * 1e9),
        "key": "{name}",
        "known": _KNOWN + _ORPHAN,
    },
]


def opened(known, hello, scale):
    """Opens the lock of a hello. Returns what makes the view of an owner, and
    what closes the connections."""
    timeout = hello["lease_ns"] / 1e9 if known["claims"].get("lease") else None
    sleep = hello.get("poll_ns", 0) / 1e9 or SLEEP * scale
    (client,), close = connect(hello["redis"], scale)
    return lambda lock: Owner(client, lock, timeout, sleep), close


class Owner:
    """One owner's view of a lock. All of its calls come from one thread, which
    is where redis-py keeps the token."""

    renewed = False

    def __init__(self, client, name, timeout, sleep):
        self._client = client
        self._name = name
        self._timeout = timeout  # in seconds; None for none
        self._sleep = sleep
        self._lock = None  # that was acquired last

    def acquire(self, wait, lease):
        """Takes the lock, and returns its lease. All are in seconds: a wait
        below 0 has no end, and a lease of 0 is the default."""
        timeout = lease or self._timeout
        lock = self._client.lock(self._name, timeout=timeout, sleep=self._sleep)
        limit = None if wait < 0 else wait
        try:
            taken = lock.acquire(blocking=wait != 0, blocking_timeout=limit)
        except Exception as e:
            raise classified(e) from e
        if not taken:
            raise Failure("busy", "acquire returned False")
        self._lock = lock
        return timeout

    def release(self):
        try:
            self._held().release()
        except Exception as e:
            raise classified(e) from e

    def extend(self, lease):
        """Lets the hold last lease seconds from now."""
        lock = self._held()
        if lock.timeout is None:
            raise Failure("unsupported", "a lock without a timeout cannot be extended")
        try:
            lock.extend(lease, replace_ttl=True)
        except Exception as e:
            raise classified(e, not_owned="lost") from e

    def owned(self):
        """Asks the server whether the owner has the lock."""
        try:
            return self._lock is not None and self._lock.owned()
        except Exception as e:
            raise classified(e) from e

    def _held(self):
        if self._lock is None:
            raise Failure("not-held", "the owner has no lock to call")
        return self._lock


def classified(error, not_owned="not-held"):
    """Gives an error of redis-py its class."""
    if isinstance(error, Failure):
        return error
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, LockNotOwnedError):
        return Failure(not_owned, text)
    if isinstance(error, LockError):  # it has no token
        return Failure("not-held", text)
    if isinstance(error, (ConnectionError, TimeoutError, RedisClusterException, ClusterDownError)):
        return Failure("unknown", text)
    return Failure("other", text)
