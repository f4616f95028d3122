// Memory, limits and streams.
#include "acts.h"
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static int lock(int argc, char **argv) {
	printf("mlockall: %s\n", mlockall(MCL_CURRENT | MCL_FUTURE) ? strerror(errno) : "ok");
	char *room = malloc(1 << 20);
	memset(room, 1, 1 << 20);
	printf("1 MiB more: %s\n", room ? "ok" : "refused");
	return 0;
}

// lockLimit locks all within a limit of argv[1] bytes, without the capability.
static int lockLimit(int argc, char **argv) {
	struct rlimit limit = {atol(argv[1]), atol(argv[1])};
	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (setgid(65534) || setuid(65534))
		return 1;
	printf("mlockall: %s\n", mlockall(MCL_CURRENT | MCL_FUTURE) ? strerror(errno) : "ok");
	return 0;
}

// space limits the address space, and becomes another program.
static int most(int argc, char **argv) {
	size_t got = 0;
	while (got < 64 && malloc(1 << 20))
		got++;
	printf("%s\n", got == 64 ? "64 MiB are there" : "less than 64 MiB");
	return 0;
}

static int regions(int argc, char **argv) {
	char line[512];
	int writable = 0, code = 0;
	FILE *f = fopen("/proc/self/maps", "re");
	while (f && fgets(line, sizeof line, f)) {
		writable += strstr(line, " rw-s ") != 0;
		code += strstr(line, " rwx") != 0;
	}
	if (f)
		fclose(f);
	printf("shared and writable: %d, writable and executable: %d\n", writable, code);
	return 0;
}

static int heap(int argc, char **argv) {
	struct mallinfo2 before = mallinfo2();
	printf("blocks in use at the start: %zu bytes\n", before.uordblks);
	return 0;
}

// flood writes until nobody reads any more.
static int flood(int argc, char **argv) {
	char block[4096];
	memset(block, 'x', sizeof block);
	for (;;)
		if (write(1, block, sizeof block) < 0)
			return fprintf(stderr, "write: %s\n", strerror(errno)), 3;
}

static int bigFile(int argc, char **argv) {
	struct rlimit limit;
	getrlimit(RLIMIT_FSIZE, &limit);
	int fd = open("big", O_CREAT | O_WRONLY, 0644);
	char block[4096] = {0};
	for (int i = 0; i < 64; i++)
		if (write(fd, block, sizeof block) < 0)
			return printf("write %d: %s\n", i, strerror(errno)), 1;
	printf("64 blocks\n");
	return 0;
}

static int manyFiles(int argc, char **argv) {
	int n = 0;
	while (n < 4096 && open("/dev/null", O_RDONLY) >= 0)
		n++;
	printf("%d files more, then: %s\n", n, strerror(errno));
	return 0;
}

const struct act memoryActs[] = {
	{"mlock", lock}, {"mlocklimit", lockLimit}, {"most", most}, {"regions", regions}, {"heap", heap},
	{"flood", flood}, {"bigfile", bigFile}, {"manyfiles", manyFiles}, {0},
};
