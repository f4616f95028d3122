// Ways to start a process, and what it then has.
#include "acts.h"
#include <dirent.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

extern char **environ;

static int byVfork(int argc, char **argv) {
	fflush(stdout);
	pid_t pid = vfork();
	if (pid == 0) {
		execlp("echo", "echo", "started by vfork", (char *)0);
		_exit(127);
	}
	return told("vfork", pid);
}

static int bySpawn(int argc, char **argv) {
	pid_t pid;
	char *args[] = {"echo", "started by posix_spawn", 0};
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	posix_spawnattr_t attributes;
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
	int failed = posix_spawnp(&pid, "echo", &actions, &attributes, args, environ);
	if (failed)
		return printf("posix_spawn: %s\n", strerror(failed)), 1;
	return told("posix_spawn", pid);
}

static int inClone(void *shared) {
	*(int *)shared = 42;
	return 3;
}

static int byClone(int argc, char **argv) {
	int shared = 0;
	char *stack = malloc(1 << 16);
	pid_t pid = clone(inClone, stack + (1 << 16), CLONE_VM | CLONE_VFORK | SIGCHLD, &shared);
	told("clone", pid);
	printf("shared memory says %d\n", shared);
	return 0;
}

static int byClone3(int argc, char **argv) {
	struct clone_args args = {.exit_signal = SIGCHLD};
	pid_t pid = syscall(SYS_clone3, &args, sizeof args);
	if (pid == 0) {
		if (argc > 1)
			execvp(argv[1], argv + 1);
		_exit(argc > 1 ? 127 : 5);
	}
	return told("clone3", pid);
}

static int fork100(int argc, char **argv) {
	int sum = 0;
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(i & 1);
		int status;
		waitpid(pid, &status, 0);
		sum += WEXITSTATUS(status);
	}
	printf("%d of 100 ended with 1\n", sum);
	return 0;
}

// bomb forks in both halves until 2^argv[1] processes are there.
static int bomb(int argc, char **argv) {
	int levels = atoi(argv[1]), pipes[2];
	char byte = 1;
	if (pipe(pipes))
		return 1;
	pid_t self = getpid();
	for (int i = 0; i < levels; i++)
		fork();
	if (write(pipes[1], &byte, 1) != 1)
		return 1;
	while (wait(0) > 0)
		;
	if (getpid() != self)
		_exit(0);
	close(pipes[1]);
	int n = 0;
	while (read(pipes[0], &byte, 1) == 1)
		n++;
	printf("%d processes\n", n);
	return 0;
}

// chain replaces itself argv[1] times.
static int chain(int argc, char **argv) {
	int left = atoi(argv[1]);
	pid_t first = argc > 2 ? atoi(argv[2]) : getpid();
	if (left == 0)
		return printf("the same process: %d\n", first == getpid()), 6;
	char number[16], pid[16];
	snprintf(number, sizeof number, "%d", left - 1);
	snprintf(pid, sizeof pid, "%d", first);
	execl("/proc/self/exe", "acts", "chain", number, pid, (char *)0);
	return perror("exec"), 1;
}

static int descriptors(const char *when) {
	DIR *d = opendir("/proc/self/fd");
	if (!d)
		return printf("%s: %s\n", when, strerror(errno)), 1;
	printf("%s:", when);
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(d))
			printf(" %s", e->d_name);
	printf("\n");
	fflush(stdout);
	return closedir(d);
}

static int scan(int argc, char **argv) { return descriptors("open"); }

// closeAll closes every descriptor behind the first three, and goes on.
static int closeAll(int argc, char **argv) {
	descriptors("before");
	closefrom(3);
	descriptors("after");
	pid_t pid = fork();
	if (pid == 0) {
		if (argc > 1)
			execvp(argv[1], argv + 1);
		_exit(0);
	}
	return told("child", pid);
}

// closeEvery closes all descriptors, also the first three, as daemons of old do.
static int closeEvery(int argc, char **argv) {
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	int fd = open("closed", O_CREAT | O_WRONLY, 0600);
	dprintf(fd, "the first free descriptor is %d\n", fd);
	return 8;
}

// numbers shows which descriptors a program gets.
static int numbers(int argc, char **argv) {
	int a = open("/dev/null", O_RDONLY), b = socket(AF_UNIX, SOCK_STREAM, 0), c = dup(0);
	printf("open %d, socket %d, dup %d\n", a, b, c);
	return 0;
}

static int emptyArguments(int argc, char **argv) {
	char *none[] = {0}, *bare[] = {0};
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		execve("/bin/true", none, bare);
		_exit(127);
	}
	return told("without arguments and environment", pid);
}

static int byDescriptor(int argc, char **argv) {
	int file = open("/bin/echo", O_RDONLY | O_CLOEXEC), memory = memfd_create("a program", MFD_CLOEXEC);
	char buffer[65536];
	for (ssize_t n; (n = read(file, buffer, sizeof buffer)) > 0;)
		if (write(memory, buffer, n) != n)
			return 1;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		char *args[] = {"echo", "from memory", 0};
		fexecve(memory, args, environ);
		_exit(127);
	}
	return told("fexecve", pid);
}

static void *wait1(void *p) {
	pthread_barrier_wait(p);
	pthread_barrier_wait(p);
	return 0;
}

static int threads(int argc, char **argv) {
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, 0, 9);
	pthread_t all[8];
	for (int i = 0; i < 8; i++)
		pthread_create(&all[i], 0, wait1, &barrier);
	pthread_barrier_wait(&barrier);
	int n = 0;
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 8; i++)
		pthread_join(all[i], 0);
	printf("%d threads beside 8\n", n - 8);
	return 0;
}

static void *forkAndExec(void *unused) {
	pid_t pid = fork();
	if (pid == 0) {
		execlp("true", "true", (char *)0);
		_exit(127);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	return (void *)(long)status;
}

static int forkInThreads(int argc, char **argv) {
	pthread_t all[16];
	long failed = 0;
	for (int i = 0; i < 16; i++)
		pthread_create(&all[i], 0, forkAndExec, 0);
	for (int i = 0; i < 16; i++) {
		void *status;
		pthread_join(all[i], &status);
		failed += status != 0;
	}
	printf("%ld of 16 failed\n", failed);
	return 0;
}

static void before(void) { printf("before fork\n"); }
static void after(void) { printf("after fork\n"); }

static int atFork(int argc, char **argv) {
	pthread_atfork(before, after, after);
	pid_t pid = fork();
	if (pid == 0)
		exit(0);
	return told("child", pid);
}

// daemonise forks twice and lets its parent end; the daemon writes once the run
// is over, and then becomes argv[1…].
static int daemonise(int argc, char **argv) {
	printf("the parent\n");
	fflush(stdout);
	if (fork() > 0)
		_exit(0);
	setsid();
	if (fork() > 0)
		_exit(0);
	for (int i = 0; i < 2000 && access("../status", F_OK); i++)
		nap(5);
	printf("the daemon writes: %s\n", access("../status", F_OK) ? "too early" : "its starter has ended");
	fflush(stdout);
	if (argc > 1)
		execvp(argv[1], argv + 1);
	return 0;
}

// orphan shows to whom the child of an ended process goes: to its subreaper.
static int orphan(int argc, char **argv) {
	pid_t self = getpid();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	fflush(stdout);
	pid_t middle = fork();
	if (middle == 0) {
		if (fork() == 0) {
			for (int i = 0; i < 2000 && getppid() != self; i++)
				nap(2);
			_exit(getppid() == self ? 0 : 1);
		}
		_exit(0);
	}
	told("the child", middle);
	int status = -1;
	wait(&status);
	printf("the orphan came to its subreaper: %s\n", status == 0 ? "yes" : "no");
	return 0;
}

// parentsDeath is told of its parent's end by a signal.
static int parentsDeath(int argc, char **argv) {
	fflush(stdout);
	int pipes[2];
	char byte = 0;
	if (pipe(pipes))
		return 1;
	pid_t middle = fork();
	if (middle == 0) {
		if (fork() == 0) {
			sigset_t set;
			sigemptyset(&set);
			sigaddset(&set, SIGUSR1);
			sigprocmask(SIG_BLOCK, &set, 0);
			prctl(PR_SET_PDEATHSIG, SIGUSR1);
			if (write(pipes[1], "r", 1) != 1)
				_exit(1);
			struct timespec limit = {5, 0};
			byte = sigtimedwait(&set, 0, &limit) == SIGUSR1 ? 'y' : 'n';
			_exit(write(pipes[1], &byte, 1) != 1);
		}
		_exit(read(pipes[0], &byte, 1) != 1);
	}
	told("the parent", middle);
	if (read(pipes[0], &byte, 1) == 1)
		printf("the signal came: %c\n", byte);
	return 0;
}

// with changes signals and then becomes another program:
// with [block|ignore|default=NUMBER]… -- COMMAND
static int with(int argc, char **argv) {
	int i = 1;
	for (; i < argc && strcmp(argv[i], "--"); i++) {
		char *value = strchr(argv[i], '=');
		int number = value ? atoi(value + 1) : 0;
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, number);
		if (!strncmp(argv[i], "block", 5))
			sigprocmask(SIG_BLOCK, &set, 0);
		else if (!strncmp(argv[i], "ignore", 6))
			signal(number, SIG_IGN);
		else if (!strncmp(argv[i], "deathsig", 8))
			prctl(PR_SET_PDEATHSIG, number);
		else if (!strncmp(argv[i], "nodump", 6))
			prctl(PR_SET_DUMPABLE, 0);
		else if (!strncmp(argv[i], "noprivs", 7))
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		else if (!strncmp(argv[i], "open", 4))
			dup2(open("/dev/null", O_RDONLY), number);
		else if (!strncmp(argv[i], "slack", 5))
			prctl(PR_SET_TIMERSLACK, number);
	}
	if (i + 1 < argc)
		execvp(argv[i + 1], argv + i + 1);
	return perror("with"), 127;
}

const struct act startingActs[] = {
	{"vfork", byVfork}, {"spawn", bySpawn}, {"clone", byClone}, {"clone3", byClone3}, {"fork100", fork100},
	{"bomb", bomb}, {"chain", chain}, {"scan", scan}, {"closefrom", closeAll}, {"closeevery", closeEvery},
	{"numbers", numbers}, {"empty", emptyArguments}, {"fexecve", byDescriptor}, {"threads", threads},
	{"forkthreads", forkInThreads}, {"atfork", atFork}, {"daemon", daemonise}, {"orphan", orphan},
	{"parentsdeath", parentsDeath}, {"with", with}, {0},
};
