"""python-redis-lock's Lock: what it promises, and what an owner does with one."""

import math
import time
from importlib.metadata import version

from redis.exceptions import ConnectionError, TimeoutError
from redis_lock import Lock, NotAcquired, NotExpirable

from failure import Failure
from servers import connect

SOCKET_TIMEOUT = 60  # in seconds: a BLPOP that waits for longer than that fails

_SECOND = int(1e9)
_COMMON = {
    "version": version("python-redis-lock"),
    "key": "lock:{name}",
    "keeps": ["lock-signal:{name}"],  # for a second after a release
    # In a cluster the two keys are in different slots.
    "reaches": ["address", "sentinels"],
}

DESCRIPTIONS = [
    {
        "name": "python-redis-lock",
        "summary": "python-redis-lock's Lock with an expiry, a new one for each acquire",
        "claims": {"waits": True, "lease": True, "explicit": True, "extends": True},
        "lease_unit_ns": _SECOND,
        **_COMMON,
    },
    {
        "name": "python-redis-lock-renewed",
        "summary": "python-redis-lock's Lock with auto_renewal, one for all acquires of an owner",
        "claims": {"waits": True, "lease": True, "renewal": True},
        "lease_unit_ns": _SECOND,
        "renew_every": 0.67,
        **_COMMON,
    },
    {
        "name": "python-redis-lock-no-expire",
        "summary": "python-redis-lock's Lock without an expiry, as it is by default",
        "claims": {"waits": True},
        **_COMMON,
    },
]


def opened(known, hello, scale):
    """Opens the lock of a hello. Returns what makes the view of an owner, and
    what closes the connections."""
    claims = known["claims"]
    expire = hello["lease_ns"] / 1e9 if claims.get("lease") else None
    (client,), close = connect(hello["redis"], scale, socket_timeout=SOCKET_TIMEOUT)
    return lambda lock: Owner(client, lock, expire, bool(claims.get("renewal"))), close


class Owner:
    """One owner's view of a lock. Times are in seconds. The library cuts all of
    them to whole seconds, and a lease is rounded up before."""

    def __init__(self, client, name, expire, renewed):
        self._client = client
        self._name = name
        self._expire = expire
        self.renewed = renewed
        self._lock = None  # that was acquired last
        self._held = False

    def acquire(self, wait, lease):
        lease = lease or self._expire
        expire = None if lease is None else math.ceil(lease - 1e-6)
        lock = self._lock
        if lock is None or not self.renewed:
            lock = Lock(self._client, self._name, expire=expire, auto_renewal=self.renewed)
        if self.renewed:
            self._lock = lock
        try:
            taken = self._waited(lock, wait, expire)
        except Exception as e:
            raise classified(e) from e
        if not taken:
            raise Failure("busy", "acquire returned False")
        self._lock, self._held = lock, True
        return expire

    def _waited(self, lock, wait, expire):
        """Calls acquire until the wait is over. A timeout is a whole number of
        seconds, and at most the expiry of a lock that is not renewed."""
        if wait < 0:
            return lock.acquire()
        end = time.monotonic() + wait
        longest = math.inf if self.renewed or expire is None else expire
        while (whole := int(min(end - time.monotonic(), longest))) >= 1:
            if lock.acquire(timeout=whole):
                return True
        if lock.acquire(blocking=False):
            return True
        rest = end - time.monotonic()
        if rest <= 0:
            return False
        time.sleep(rest)
        return lock.acquire(blocking=False)

    def release(self):
        lock, self._held = self._taken(), False
        try:
            lock.release()
        except Exception as e:
            raise classified(e) from e

    def extend(self, lease):
        try:
            self._taken().extend(math.ceil(lease - 1e-6))
        except NotExpirable as e:
            raise Failure("unsupported", str(e)) from e
        except Exception as e:
            raise classified(e, not_acquired="lost") from e

    def owned(self):
        """Asks the server whether the owner has the lock."""
        try:
            return self._lock is not None and self._lock.get_owner_id() == self._lock.id
        except Exception as e:
            raise classified(e) from e

    def _taken(self):
        if not self._held:
            raise Failure("not-held", "the owner has no lock to call")
        return self._lock


def classified(error, not_acquired="not-held"):
    """Gives an error of the library, or of redis-py below it, its class."""
    if isinstance(error, Failure):
        return error
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, NotAcquired):
        return Failure(not_acquired, text)
    if isinstance(error, (ConnectionError, TimeoutError)):
        return Failure("unknown", text)
    return Failure("other", text)
