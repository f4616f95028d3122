// look prints what a process can see of its own state, a line each, without
// what differs between any two runs.
//
//	look [SECTION…]
//
// Sections are ids, fds, limits, status, sched, secure, spaces, args, env and
// maps; by default all but env and maps.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

extern char **environ;

static int order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static const char *yes(int is) { return is ? "yes" : "no"; }

static void copyLines(const char *path, const char *const *keys) {
	char line[1024];
	FILE *f = fopen(path, "re");
	if (!f) {
		printf("%s: %s\n", path, strerror(errno));
		return;
	}
	while (fgets(line, sizeof line, f)) {
		int wanted = !keys;
		for (int i = 0; keys && keys[i]; i++)
			if (!strncmp(line, keys[i], strlen(keys[i])))
				wanted = 1;
		if (wanted)
			fputs(line, stdout);
	}
	fclose(f);
}

static void ids(void) {
	pid_t self = getpid(), parent = getppid();
	printf("group leader: %s\n", yes(getpgrp() == self));
	printf("session leader: %s\n", yes(getsid(0) == self));
	printf("group of its parent: %s\n", yes(getpgid(parent) == getpgrp()));
	printf("session of its parent: %s\n", yes(getsid(parent) == getsid(0)));
	int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	printf("controlling terminal: %s\n", yes(tty >= 0));
	if (tty >= 0) {
		printf("foreground: %s\n", yes(tcgetpgrp(tty) == getpgrp()));
		close(tty);
	}
	char cwd[4096] = "", root[4096] = "";
	getcwd(cwd, sizeof cwd);
	readlink("/proc/self/root", root, sizeof root - 1);
	printf("cwd: %s\nroot: %s\n", cwd, root);
	int signal = -1;
	prctl(PR_GET_PDEATHSIG, &signal);
	printf("signal at the parent's death: %d\n", signal);
	int reaper = -1;
	prctl(PR_GET_CHILD_SUBREAPER, &reaper);
	printf("subreaper: %d\n", reaper);
}

static void fds(void) {
	for (int fd = 0; fd < 1024; fd++) {
		char path[64], target[4096] = "";
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof target - 1) < 0)
			continue;
		char *number = strstr(target, ":[");
		if (number)
			*number = 0;
		printf("fd %d: %s, flags %x, mode %o\n", fd, target, fcntl(fd, F_GETFD), fcntl(fd, F_GETFL));
	}
	struct stat a, b;
	printf("1 and 2 are the same: %s\n",
		yes(!fstat(1, &a) && !fstat(2, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev));
}

static void state(void) {
	static const char *const keys[] = {"Name", "Umask", "State", "TracerPid", "Uid", "Gid", "Groups", "VmLck",
		"VmPin", "CoreDumping", "THP_enabled", "Threads", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "Cap",
		"NoNewPrivs", "Seccomp", "Speculation", "Cpus_allowed", "Mems_allowed", 0};
	copyLines("/proc/self/status", keys);
	int tasks = 0;
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; d && (e = readdir(d));)
		tasks += e->d_name[0] != '.';
	if (d)
		closedir(d);
	printf("tasks: %d\n", tasks);
}

static void scheduling(void) {
	printf("nice: %d\n", getpriority(PRIO_PROCESS, 0));
	printf("policy: %d\n", sched_getscheduler(0));
	printf("io priority: %ld\n", syscall(SYS_ioprio_get, 1, 0));
	printf("timer slack: %d\n", prctl(PR_GET_TIMERSLACK));
	printf("oom_score_adj: "), fflush(stdout);
	copyLines("/proc/self/oom_score_adj", 0);
	struct itimerval t;
	for (int which = 0; which < 3; which++) {
		getitimer(which, &t);
		printf("timer %d is set: %s\n", which, yes(t.it_value.tv_sec || t.it_value.tv_usec));
	}
	stack_t stack;
	sigaltstack(0, &stack);
	printf("signal stack: %s\n", yes(!(stack.ss_flags & SS_DISABLE)));
}

static void secure(void) {
	printf("dumpable: %d\n", prctl(PR_GET_DUMPABLE));
	printf("keep capabilities: %d\n", prctl(PR_GET_KEEPCAPS));
	printf("secure bits: %d\n", prctl(PR_GET_SECUREBITS));
	printf("no new privileges: %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	printf("huge pages off: %d\n", prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
	printf("personality: "), fflush(stdout);
	copyLines("/proc/self/personality", 0);
	printf("core filter: "), fflush(stdout);
	copyLines("/proc/self/coredump_filter", 0);
	printf("AT_SECURE: %lu\n", getauxval(AT_SECURE));
	const char *file = (const char *)getauxval(AT_EXECFN);
	printf("AT_EXECFN: %s\n", file ? file : "none");
}

static void spaces(void) {
	static const char *const names[] = {"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts", 0};
	for (int i = 0; names[i]; i++) {
		char path[64], target[128] = "";
		snprintf(path, sizeof path, "/proc/self/ns/%s", names[i]);
		readlink(path, target, sizeof target - 1);
		printf("namespace %s\n", target);
	}
	copyLines("/proc/self/cgroup", 0);
}

static void args(int argc, char **argv) {
	char exe[4096] = "";
	readlink("/proc/self/exe", exe, sizeof exe - 1);
	printf("exe: %s\n", exe);
	for (int i = 0; i < argc; i++)
		printf("argument %d: <%s>\n", i, argv[i]);
	char text[4096] = "";
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	long n = read(fd, text, sizeof text);
	close(fd);
	printf("command line: %ld bytes\n", n);
}

static void environment(void) {
	char *sorted[4096];
	int n = 0;
	for (; environ[n] && n < 4096; n++)
		sorted[n] = environ[n];
	qsort(sorted, n, sizeof *sorted, order);
	for (int i = 0; i < n; i++)
		printf("environment %s\n", sorted[i]);
	// What the kernel shows of the start must be what the program has.
	size_t bytes = 0;
	for (int i = 0; i < n; i++)
		bytes += strlen(sorted[i]) + 1;
	char buffer[65536];
	int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	size_t total = 0;
	for (long got; (got = read(fd, buffer, sizeof buffer)) > 0;)
		total += got;
	close(fd);
	printf("the kernel shows the same environment: %s\n", yes(total == bytes));
}

static void maps(void) {
	char line[8192], *names[4096];
	int n = 0;
	FILE *f = fopen("/proc/self/maps", "re");
	while (f && fgets(line, sizeof line, f) && n < 4096) {
		line[strcspn(line, "\n")] = 0;
		char *path = strpbrk(line, "/[");
		if (path)
			names[n++] = strdup(path);
	}
	if (f)
		fclose(f);
	qsort(names, n, sizeof *names, order);
	for (int i = 0; i < n; i++)
		if (!i || strcmp(names[i], names[i - 1]))
			printf("mapped %s\n", names[i]);
}

int main(int argc, char **argv) {
	static const char *const all[] = {"ids", "fds", "limits", "status", "sched", "secure", "spaces", "args", 0};
	const char *const *wanted = argc > 1 ? (const char *const *)argv + 1 : all;
	for (int i = 0; wanted[i]; i++) {
		const char *s = wanted[i];
		if (!strcmp(s, "ids"))
			ids();
		else if (!strcmp(s, "fds"))
			fds();
		else if (!strcmp(s, "limits"))
			copyLines("/proc/self/limits", 0);
		else if (!strcmp(s, "status"))
			state();
		else if (!strcmp(s, "sched"))
			scheduling();
		else if (!strcmp(s, "secure"))
			secure();
		else if (!strcmp(s, "spaces"))
			spaces();
		else if (!strcmp(s, "args"))
			args(argc, argv);
		else if (!strcmp(s, "env"))
			environment();
		else if (!strcmp(s, "maps"))
			maps();
	}
	fflush(stdout);
	return 0;
}
