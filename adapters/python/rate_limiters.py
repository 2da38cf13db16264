"""redis-rate-limiters' SyncSemaphore: what it promises, and what an owner does with one."""

import math
from importlib.metadata import version

from limiters import MaxSleepExceededError, SyncSemaphore
from redis.exceptions import ConnectionError, TimeoutError

from failure import Failure
from python_redis_lock import SOCKET_TIMEOUT
from servers import connect

PERMITS = 2
TRY = 0.5  # in seconds, of a single try, which the library has not: 0 waits for ever

DESCRIPTIONS = [
    {
        "name": "rate-limiters",
        "summary": "redis-rate-limiters' SyncSemaphore of two permits, a new one for each acquire",
        "version": version("redis-rate-limiters"),
        "claims": {"waits": True, "lease": True, "permits": PERMITS},
        "lease_unit_ns": int(1e9),
        "key": "{limiter}:semaphore:{name}",
        "holder": "none",
        # The tokens, and the mark that they exist, until the expiry after the last use.
        "keeps": ["{limiter}:semaphore:{name}", "{limiter}:semaphore:{name}-exists"],
        "reaches": ["address", "sentinels"],
    }
]


def opened(known, hello, scale):
    """Opens the lock of a hello. Returns what makes the view of an owner, and
    what closes the connections."""
    (client,), close = connect(hello["redis"], scale, socket_timeout=SOCKET_TIMEOUT)
    return lambda lock: Owner(client, lock, math.ceil(hello["lease_ns"] / 1e9 - 1e-6)), close


class Owner:
    """One owner, who has one permit at most. Times are in seconds."""

    renewed = False

    def __init__(self, client, name, expiry):
        self._client = client
        self._name = name
        self._expiry = expiry
        self._semaphore = None  # of which the owner has a permit

    def acquire(self, wait, lease):
        longest = 0 if wait < 0 else max(wait, TRY)
        semaphore = SyncSemaphore(
            connection=self._client,
            name=self._name,
            capacity=PERMITS,
            max_sleep=longest,
            expiry=self._expiry,
        )
        try:
            semaphore.__enter__()
        except Exception as e:
            raise classified(e) from e
        self._semaphore = semaphore
        return self._expiry

    def release(self):
        semaphore, self._semaphore = self._semaphore, None
        if semaphore is None:
            raise Failure("not-held", "the owner has no permit")
        try:
            semaphore.__exit__(None, None, None)
        except Exception as e:
            raise classified(e) from e

    def extend(self, lease):
        raise Failure("unsupported", "a permit cannot be extended")

    def owned(self):
        """Says what the owner believes: a token has no owner."""
        return self._semaphore is not None


def classified(error):
    """Gives an error of the library, or of redis-py below it, its class."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, MaxSleepExceededError):
        return Failure("busy", text)
    if isinstance(error, (ConnectionError, TimeoutError)):
        return Failure("unknown", text)
    return Failure("other", text)
