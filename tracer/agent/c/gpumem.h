/* gpumem.h: a program in C or C++ tells gpumem what it holds of a device's memory.
 *
 * One file, no dependency, C99 and C++98, POSIX. In one source file:
 *
 *	#define GPUMEM_IMPLEMENTATION
 *	#include "gpumem.h"
 *
 * and in all others the second line only. Under `gpumem run` the program then tells
 * live and idle bytes of its own allocator, which nobody else can tell apart:
 *
 *	gpumem_hello("my arena", "NVIDIA H100");   once, at the start
 *	gpumem_sample(live, idle, count);          wherever these change
 *	gpumem_step(n);                            once an iteration of the program's loop
 *	gpumem_mark("phase", "baseline");          see docs/agent-protocol.md
 *	gpumem_done();                             at the end
 *
 * Without a tracer every function returns at once. Nothing here waits, allocates
 * memory, raises a signal or changes errno: what the tracer does not take at once is
 * dropped, and counted. A forked child connects for itself. The functions are for one
 * thread at a time: call them under the lock that the allocator has anyway. */
#ifndef GPUMEM_H
#define GPUMEM_H

#ifdef __cplusplus
extern "C" {
#endif

/* gpumem_hello connects to the tracer and says who speaks: the allocator, and the
 * device's name or null. The texts are used up to their first quote, backslash or
 * control character. It returns 1 where a tracer listens, else 0. */
int gpumem_hello(const char *agent, const char *device);

/* gpumem_sample tells bytes that are handed out and still used (live), bytes that the
 * allocator keeps and nobody uses (idle), and the number of live blocks; -1 is unknown.
 * A call that comes sooner after the last than the tracer wants samples only keeps the
 * values for the next: a call costs about as much as reading the clock. */
void gpumem_sample(long long live, long long idle, long long count);

/* gpumem_step tells that iteration n begins, with the values of the last sample. */
void gpumem_step(long long n);

/* gpumem_mark tells a point in time, as "phase" with "baseline" or "released". */
void gpumem_mark(const char *kind, const char *name);

/* gpumem_done tells the last values and that the program ends, and closes. */
void gpumem_done(void);

#ifdef __cplusplus
}
#endif
#endif

#if defined(GPUMEM_IMPLEMENTATION) && !defined(GPUMEM_IMPLEMENTED)
#define GPUMEM_IMPLEMENTED
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#if defined(MSG_NOSIGNAL)
#define GPUMEM_SEND (MSG_NOSIGNAL | MSG_DONTWAIT)
#else
#define GPUMEM_SEND MSG_DONTWAIT /* macOS: SO_NOSIGPIPE is set */
#endif

static struct {
	int fd, open;
	pid_t pid;
	char agent[64], device[64];
	char rest[512]; /* of a line that was sent in part */
	size_t waiting;
	long long live, idle, count, step, dropped, last, every; /* ns */
	int known, stepped;
} gpumem_state;

static long long gpumem_now(void)
{
	struct timespec t;
	t.tv_sec = 0, t.tv_nsec = 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void gpumem_close(void)
{
	if (gpumem_state.open)
		close(gpumem_state.fd);
	gpumem_state.open = 0;
	gpumem_state.waiting = 0;
}

/* gpumem_send sends what it can and returns how much; a broken connection ends. */
static size_t gpumem_send(const char *text, size_t length)
{
	ssize_t n = send(gpumem_state.fd, text, length, GPUMEM_SEND);
	if (n >= 0)
		return (size_t)n;
	if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ENOBUFS)
		gpumem_close();
	return 0;
}

/* gpumem_tell sends one line whole, now or with its end later, or drops it. */
static void gpumem_tell(const char *line, int printed)
{
	size_t sent, length = (size_t)printed;
	if (!gpumem_state.open || printed <= 0 || length >= sizeof gpumem_state.rest)
		return;
	if (gpumem_state.waiting) {
		sent = gpumem_send(gpumem_state.rest, gpumem_state.waiting);
		if (!gpumem_state.open)
			return;
		gpumem_state.waiting -= sent;
		memmove(gpumem_state.rest, gpumem_state.rest + sent, gpumem_state.waiting);
	}
	if (gpumem_state.waiting) {
		gpumem_state.dropped++;
		return;
	}
	sent = gpumem_send(line, length);
	if (!gpumem_state.open)
		return;
	if (sent == 0) {
		gpumem_state.dropped++;
		return;
	}
	gpumem_state.waiting = length - sent;
	memcpy(gpumem_state.rest, line + sent, gpumem_state.waiting);
}

static void gpumem_copy(char *to, size_t size, const char *from)
{
	size_t n = 0;
	for (; from && from[n] >= ' ' && from[n] != '"' && from[n] != '\\' && n + 1 < size; n++)
		to[n] = from[n];
	to[n] = 0;
}

static void gpumem_connect(void)
{
	struct sockaddr_un at;
	char line[512];
	const char *path = getenv("GPUMEM_AGENT"), *every = getenv("GPUMEM_INTERVAL_MS");
	gpumem_state.pid = getpid();
	gpumem_state.every = (every && atoi(every) > 0 ? atoi(every) : 50) * 1000000LL;
	memset(&at, 0, sizeof at);
	at.sun_family = AF_UNIX;
	if (!path || strlen(path) >= sizeof at.sun_path)
		return;
	strcpy(at.sun_path, path);
	gpumem_state.fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (gpumem_state.fd < 0)
		return;
	gpumem_state.open = 1;
	fcntl(gpumem_state.fd, F_SETFD, FD_CLOEXEC);
	fcntl(gpumem_state.fd, F_SETFL, O_NONBLOCK);
#if !defined(MSG_NOSIGNAL) && defined(SO_NOSIGPIPE)
	{
		int on = 1;
		setsockopt(gpumem_state.fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
	}
#endif
	if (connect(gpumem_state.fd, (struct sockaddr *)&at, sizeof at) != 0) {
		gpumem_close();
		return;
	}
	gpumem_tell(line, snprintf(line, sizeof line, "{\"hello\":{\"v\":1,\"pid\":%ld,\"agent\":\"%s\",\"device\":\"%s\"}}\n",
				   (long)gpumem_state.pid, gpumem_state.agent, gpumem_state.device));
}

/* gpumem_ready reports whether somebody listens; a forked child connects anew. */
static int gpumem_ready(void)
{
	if (gpumem_state.open && gpumem_state.pid != getpid()) {
		gpumem_close();
		gpumem_connect();
	}
	return gpumem_state.open;
}

static int gpumem_add(char *line, size_t size, int at, const char *name, long long value)
{
	if (value < 0 || at < 0 || (size_t)at >= size)
		return at;
	return at + snprintf(line + at, size - (size_t)at, ",\"%s\":%lld", name, value);
}

static void gpumem_flush(long long now)
{
	char line[512];
	int n = snprintf(line, sizeof line, "{\"sample\":{\"t_ns\":%lld", now);
	if (gpumem_state.known) {
		n = gpumem_add(line, sizeof line, n, "pool_live_bytes", gpumem_state.live);
		n = gpumem_add(line, sizeof line, n, "pool_idle_bytes", gpumem_state.idle);
		n = gpumem_add(line, sizeof line, n, "live_count", gpumem_state.count);
	}
	if (gpumem_state.stepped)
		n = gpumem_add(line, sizeof line, n, "step", gpumem_state.step);
	n = gpumem_add(line, sizeof line, n, "dropped", gpumem_state.dropped);
	gpumem_state.last = now;
	gpumem_tell(line, n + snprintf(line + n, sizeof line - (size_t)n, "}}\n"));
}

int gpumem_hello(const char *agent, const char *device)
{
	int saved = errno;
	gpumem_copy(gpumem_state.agent, sizeof gpumem_state.agent, agent);
	gpumem_copy(gpumem_state.device, sizeof gpumem_state.device, device);
	gpumem_close();
	gpumem_connect();
	errno = saved;
	return gpumem_state.open;
}

void gpumem_sample(long long live, long long idle, long long count)
{
	int saved = errno;
	long long now;
	gpumem_state.live = live, gpumem_state.idle = idle, gpumem_state.count = count;
	gpumem_state.known = 1;
	if (gpumem_state.open) {
		now = gpumem_now();
		if (now - gpumem_state.last >= gpumem_state.every && gpumem_ready())
			gpumem_flush(now);
	}
	errno = saved;
}

void gpumem_step(long long n)
{
	int saved = errno;
	long long now;
	gpumem_state.step = n, gpumem_state.stepped = 1;
	if (gpumem_state.open) {
		now = gpumem_now();
		if (now - gpumem_state.last >= 1000000 && gpumem_ready()) /* at most 1,000 a second */
			gpumem_flush(now);
	}
	errno = saved;
}

void gpumem_mark(const char *kind, const char *name)
{
	int saved = errno;
	char line[512], k[64], n[64];
	gpumem_copy(k, sizeof k, kind);
	gpumem_copy(n, sizeof n, name);
	if (gpumem_state.open && gpumem_ready()) {
		gpumem_flush(gpumem_now());
		gpumem_tell(line, snprintf(line, sizeof line, "{\"mark\":{\"t_ns\":%lld,\"kind\":\"%s\",\"name\":\"%s\"}}\n",
					   gpumem_now(), k, n));
	}
	errno = saved;
}

void gpumem_done(void)
{
	int saved = errno;
	gpumem_mark("phase", "exiting");
	gpumem_close();
	errno = saved;
}
#endif
