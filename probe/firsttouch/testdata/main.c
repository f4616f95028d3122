/* Calls one function of one library about every millisecond:
 * main LIBRARY FUNCTION [threads], until its input ends. With threads, the
 * calls are made by threads that are started after the first line of input,
 * each ending after a while so that others follow. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void (*call)(void);
static int open_input(void) {
	struct pollfd p = {0, POLLIN, 0};
	char b[64];
	if (poll(&p, 1, 0) <= 0) return 1;
	return read(0, b, sizeof b) > 0;
}
static void *work(void *rounds) {
	for (long i = 0; i < (long)rounds; i++) { call(); usleep(1000); }
	return 0;
}
int main(int argc, char **argv) {
	char b[64];
	void *h = dlopen(argv[1], RTLD_NOW);
	if (!h) { fprintf(stderr, "%s\n", dlerror()); return 1; }
	call = (void (*)(void))dlsym(h, argv[2]);
	if (!call) return 2;
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 128 << 10);
	puts("ready"); fflush(stdout);
	if (read(0, b, sizeof b) <= 0) return 0;
	if (argc > 3)
		while (open_input()) {
			pthread_t t[2];
			for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, (void *)100L);
			for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
		}
	else
		while (open_input()) { call(); usleep(1000); }
	return 0;
}
