// A server's own clock: this library, loaded before libc (LD_PRELOAD), shows
// the time of day that a mapped file describes. Time that only runs forward
// (CLOCK_MONOTONIC) stays true.
//
// Nothing here may allocate: the server's allocator asks for the time while it
// starts. Therefore system calls instead of libc's clock, and no dlsym.

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// What the file holds; package live writes it, in the machine's byte order.
// At the true time base_ns the clock shows base_ns + offset_ns, and from there
// it runs at rate. An odd generation is a description being written.
struct clock {
	_Atomic uint64_t generation;
	_Atomic int64_t base_ns, offset_ns;
	_Atomic double rate;
	_Atomic int64_t pid; // of who has mapped it
};

static struct clock *_Atomic mapped;

__attribute__((constructor)) static void map_clock(void) {
	const char *path = getenv("HOLDFAST_CLOCK");
	if (path == NULL) return;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) return;
	void *at = mmap(NULL, sizeof(struct clock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED) return;
	atomic_store(&((struct clock *)at)->pid, getpid());
	atomic_store(&mapped, at);
}

static int64_t shown(int64_t now) {
	struct clock *c = atomic_load(&mapped);
	if (c == NULL) return now;
	for (;;) {
		uint64_t before = atomic_load(&c->generation);
		int64_t base = atomic_load(&c->base_ns), offset = atomic_load(&c->offset_ns);
		double rate = atomic_load(&c->rate);
		if (before % 2 == 0 && atomic_load(&c->generation) == before)
			return base + offset + (int64_t)((double)(now - base) * rate);
	}
}

int clock_gettime(clockid_t id, struct timespec *ts) {
	int failed = (int)syscall(SYS_clock_gettime, id, ts);
	if (failed || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return failed;
	int64_t ns = shown((int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec);
	ts->tv_sec = ns / 1000000000;
	ts->tv_nsec = ns % 1000000000;
	return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
	(void)zone; // obsolete, and nobody asks
	struct timespec ts;
	int failed = clock_gettime(CLOCK_REALTIME, &ts);
	if (failed) return failed;
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *at) {
	struct timespec ts;
	if (clock_gettime(CLOCK_REALTIME, &ts)) return (time_t)-1;
	if (at != NULL) *at = ts.tv_sec;
	return ts.tv_sec;
}
