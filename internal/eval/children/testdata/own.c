// A library that a program brings in by itself: by LD_PRELOAD, LD_AUDIT or
// dlopen. It says that it was loaded, and puts its own puts before libc's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void say(const char *text) {
	if (write(2, text, strlen(text)) < 0)
		return;
}

__attribute__((constructor)) static void loaded(void) { say("own library: loaded\n"); }
__attribute__((destructor)) static void unloaded(void) { say("own library: unloaded\n"); }

int puts(const char *text) {
	int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts");
	say("own library: puts\n");
	return next ? next(text) : -1;
}

int own(void) { return 42; }
