// acts is one program of many acts; each does one thing that programs do, and
// prints what came of it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct act {
	const char *name;
	int (*run)(int argc, char **argv); // argv[0] is the act's name
};

extern const struct act startingActs[], signalActs[], loadingActs[], fencedActs[],
	memoryActs[], sendingActs[];

// told prints how a child ended.
int told(const char *who, pid_t pid);

// nap sleeps for milliseconds, whatever signals come.
void nap(long ms);
