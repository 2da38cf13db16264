"""pottery's Redlock: what it promises, and what an owner does with one."""

from importlib.metadata import version

from pottery import ExtendUnlockedLock, QuorumIsImpossible, Redlock, ReleaseUnlockedLock
from redis.exceptions import ConnectionError, TimeoutError

from failure import Failure
from servers import connect

RETRY_DELAY = Redlock._RETRY_DELAY  # the longest time between two tries of a waiter, in seconds

_COMMON = {
    "version": version("pottery"),
    # takes_back: the last step of Redlock, which pottery implements.
    "claims": {"waits": True, "lease": True, "explicit": True, "extends": True, "takes_back": True},
    "handoff_ns": int(RETRY_DELAY * 1e9),
    "key": "redlock:{name}",
    "reaches": ["address", "sentinels"],
}

DESCRIPTIONS = [
    {"name": "pottery", "summary": "pottery's Redlock on one primary", **_COMMON},
    {
        "name": "pottery-3",
        "summary": "pottery's Redlock on a majority of three primaries",
        "primaries": 3,
        "quorum": 2,
        **_COMMON,
    },
]


def opened(known, hello, scale):
    """Opens the lock of a hello. Returns what makes the view of an owner, and
    what closes the connections."""
    Redlock._RETRY_DELAY = hello.get("poll_ns", 0) / 1e9 or RETRY_DELAY * scale
    clients, close = connect(hello["redis"], scale, primaries=known.get("primaries", 1))
    return lambda lock: Owner(clients, lock, hello["lease_ns"] / 1e9), close


class Owner:
    """One owner's view of a lock. Times are in seconds."""

    renewed = False

    def __init__(self, clients, name, lease):
        self._clients = clients
        self._name = name
        self._lease = lease
        self._lock = None  # that was acquired last

    def acquire(self, wait, lease):
        """Takes the lock, and returns its lease."""
        lock = Redlock(
            key=self._name,
            masters=set(self._clients),
            auto_release_time=lease or self._lease,
            num_extensions=10**6,  # a scenario has as many as it likes
        )
        try:
            taken = lock.acquire(blocking=False) if wait == 0 else lock.acquire(timeout=-1 if wait < 0 else wait)
        except Exception as e:
            raise classified(e) from e
        if not taken:
            raise Failure("busy", "acquire returned False")
        self._lock = lock
        return lock.auto_release_time

    def release(self):
        try:
            self._held().release()
        except Exception as e:
            raise classified(e) from e

    def extend(self, lease):
        """Lets the hold last lease seconds from now."""
        lock = self._held()
        lock.auto_release_time = lease
        try:
            lock.extend()
        except Exception as e:
            raise classified(e, refused="lost") from e

    def owned(self):
        """Asks the servers whether the owner has the lock."""
        try:
            return self._lock is not None and self._lock.locked() > 0
        except Exception as e:
            raise classified(e) from e

    def _held(self):
        if self._lock is None:
            raise Failure("not-held", "the owner has no lock to call")
        return self._lock


def classified(error, refused="not-held"):
    """Gives an error of pottery, or of redis-py below it, its class. A member
    that did not answer may have done what it was asked."""
    if isinstance(error, Failure):
        return error
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, (ExtendUnlockedLock, ReleaseUnlockedLock)):
        return Failure("unknown" if error.redis_errors else refused, text)
    if isinstance(error, (QuorumIsImpossible, ConnectionError, TimeoutError)):
        return Failure("unknown", text)
    return Failure("other", text)
