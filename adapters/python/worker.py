"""Locks of Python as a worker: it speaks holdfast-worker/1 on its standard input
and output, as docs/adapter-protocol.md has it."""

import json
import os
import queue
import sys
import threading
import time
import traceback

import pottery_redlock
import python_redis_lock
import rate_limiters
import redis_py
from failure import Failure

LIBRARIES = [redis_py, python_redis_lock, pottery_redlock, rate_limiters]
DESCRIPTIONS = [d for library in LIBRARIES for d in library.DESCRIPTIONS]

PROTOCOL = "holdfast-worker/1"


class Printer:
    """Writes messages, each line whole."""

    def __init__(self):
        # Standard output is for messages: what others print goes elsewhere.
        self._out = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self._mutex = threading.Lock()

    def send(self, message):
        line = json.dumps(message).encode() + b"\n"
        with self._mutex:
            self._out.write(line)
            self._out.flush()

    def answer(self, request, act):
        """Answers a request with what act returns or raises."""
        try:
            self.send({"id": request["id"], "ok": True, **act(request)})
        except Failure as e:
            self.send({"id": request["id"], "errors": [e.kind], "message": str(e)})


class OwnerThread(threading.Thread):
    """An owner, who does one thing after the other in a thread of its own."""

    def __init__(self, out, make):
        super().__init__(daemon=True)
        self._out = out
        self._make = make
        self._requests = queue.SimpleQueue()
        self._hold = None  # the id of the acquire that began it
        self.busy = False

    def ask(self, request):
        self._requests.put(request)

    def run(self):
        self._owner = self._make()
        while True:
            request = self._requests.get()
            self.busy = True
            self._out.answer(request, getattr(self, "_" + request["do"]))
            self.busy = False

    def _acquire(self, r):
        if r.get("canceled"):
            raise Failure("canceled", "the call was cancelled before it began")
        lease = self._owner.acquire(r.get("wait_ns", 0) / 1e9, r.get("lease_ns", 0) / 1e9)
        self._hold = r["id"]
        return {"count": 1, "lease_ns": int((lease or 0) * 1e9), "renewed": self._owner.renewed, "hold": r["id"]}

    def _release(self, r):
        self._hold = None
        self._owner.release()
        return {"count": 0}

    def _extend(self, r):
        self._owner.extend(r.get("lease_ns", 0) / 1e9)
        return {}

    def _state(self, r):
        return {"count": int(self._owner.owned()), **self._known()}

    def _settle(self, r):
        time.sleep(0.002)  # nothing is known here without asking a server
        return self._known()

    def _known(self):
        return {"hold": self._hold} if self._hold else {}


class Worker:
    def __init__(self, out):
        self._out = out
        self._make = None  # makes the view of an owner, after the hello
        self._owners = {}  # by lock and thread

    def serve(self, lines):
        for line in lines:
            request = json.loads(line)
            do = request["do"]
            if do == "stop":
                self._out.answer(request, lambda r: {})
                return
            if do in ("describe", "hello"):
                self._out.answer(request, getattr(self, "_" + do))
                if do == "hello" and self._make is None:
                    sys.exit(1)  # there is nothing to be asked
            elif self._make is None:
                sys.exit(f"asked to {do} before a hello")
            elif do in ("acquire", "release", "extend", "state", "settle"):
                self._owner(request["lock"], request["thread"]).ask(request)
            elif do in ("identity", "cancel", "close"):
                # The locks store a random token for each hold, have no way to
                # cancel, and nothing to close but their connections.
                self._out.answer(request, lambda r: {})
            elif do == "finish":
                threading.Thread(target=self._out.answer, args=(request, self._finish), daemon=True).start()
            else:
                self._out.answer(request, unsupported)

    def _describe(self, r):
        return {"protocol": PROTOCOL, "locks": DESCRIPTIONS}

    def _hello(self, r):
        hello = r["hello"]
        if hello["protocol"] != PROTOCOL:
            raise Failure("unsupported", f"this process speaks {PROTOCOL}")
        known = {d["name"]: d for d in DESCRIPTIONS}.get(hello["lock"])
        if known is None:
            raise Failure("other", f"there is no lock {hello['lock']!r} here")
        library = next(library for library in LIBRARIES if known in library.DESCRIPTIONS)
        self._make, self._close = library.opened(known, hello, hello["redis"].get("time_scale") or 1)
        return {"protocol": PROTOCOL, "name": known["name"], "version": known["version"]}

    def _owner(self, lock, thread):
        key = lock, thread
        if key not in self._owners:
            self._owners[key] = OwnerThread(self._out, lambda: self._make(lock))
            self._owners[key].start()
        return self._owners[key]

    def _finish(self, r):
        self._close()
        end = time.monotonic() + 2
        while self._busy() and time.monotonic() < end:
            time.sleep(0.02)
        frames = sys._current_frames()
        return {"goroutines": ["".join(traceback.format_stack(frames[t.ident])) for t in self._busy() if t.ident in frames]}

    def _busy(self):
        """The owners at work, and the threads that a library has for them. A
        daemon thread belongs to a hold, and may last as long."""
        guests = [t for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
        return [o for o in self._owners.values() if o.busy] + guests


def unsupported(r):
    raise Failure("unsupported", f"there is no {r['do']!r} here")


def crash(args):
    """What nobody caught in the thread of an owner ends the process, as it would
    have in the main thread. A thread of a library dies alone."""
    traceback.print_exception(args.exc_type, args.exc_value, args.exc_traceback)
    if isinstance(args.thread, OwnerThread):
        os._exit(1)


if __name__ == "__main__":
    threading.excepthook = crash
    Worker(Printer()).serve(sys.stdin.buffer)
    os._exit(0)  # whatever threads a library has
