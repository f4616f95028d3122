/* A program that tells gpumem what it holds; docs/agent-protocol.md says what more it could tell.
 * cc -o agent agent.c && gpumem run --purge -- ./agent */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int tracer = -1;         /* without one, nothing below does anything */
static long live, idle, blocks; /* what a real program's allocator counts */
static char line[512];
static FILE *asked; /* the same socket, read unbuffered: what is not read yet stays there to be seen */
#define TELL(...) tell(snprintf(line, sizeof line, __VA_ARGS__))

static void tell(int length) /* one line; never waits */
{
	if (tracer < 0 || send(tracer, line, length, MSG_NOSIGNAL | MSG_DONTWAIT) == length) return;
	close(tracer), tracer = -1; /* gone, or far behind: the program runs on in silence */
}

static void sample(long step)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	TELL("{\"sample\":{\"t_ns\":%lld,\"step\":%ld,\"pool_live_bytes\":%ld,\"pool_idle_bytes\":%ld,\"live_count\":%ld}}\n",
	     t.tv_sec * 1000000000LL + t.tv_nsec, step, live, idle, blocks);
}

static void answer(int flags, long step) /* what the tracer asks; without flags, until it says continue */
{
	char request[256], action[16]; /* a line at a time: several may have come together */
	for (long id, claimed; tracer >= 0 && recv(tracer, request, 1, flags | MSG_PEEK) > 0;) {
		if (!fgets(request, sizeof request, asked)) return;
		if (sscanf(request, "{\"do\":{\"id\":%ld,\"action\":\"%15[a-z]", &id, action) != 2) continue;
		if (!strcmp(action, "continue")) return;
		idle -= claimed = strcmp(action, "purge") ? 0 : idle;
		sample(step); /* the state after the action, then the answer */
		TELL("{\"done\":{\"id\":%ld,\"claimed_bytes\":%ld}}\n", id, claimed);
	}
}

int main(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct timeval minute = {.tv_sec = 60};
	const char *path = getenv("GPUMEM_AGENT"), *hold = getenv("GPUMEM_HOLD");
	if (path && strlen(path) < sizeof at.sun_path && (tracer = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0) {
		strcpy(at.sun_path, path);
		if (connect(tracer, (struct sockaddr *)&at, sizeof at)) tracer = -1;
		setsockopt(tracer, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute);
		if ((asked = fdopen(dup(tracer), "r"))) setvbuf(asked, NULL, _IONBF, 0);
		else close(tracer), tracer = -1;
	}
	TELL("{\"hello\":{\"v\":1,\"pid\":%ld,\"agent\":\"c\",\"device\":\"example\",\"actions\":[\"purge\"]}}\n", (long)getpid());
	for (long step = 1; step <= 200; step++, usleep(5000)) { /* the work: here, a leak of a page a step */
		live += 4096, blocks++, idle = 1 << 20;
		sample(step);
		answer(MSG_DONTWAIT, step);
	}
	TELL("{\"mark\":{\"kind\":\"phase\",\"name\":\"exiting\"}}\n");
	if (hold && *hold == '1') answer(0, 200);
}
