// launch starts a program as a shell does, waits for all that comes of it, and
// writes how it ended.
//
//	launch STATUS MODE SECONDS COMMAND [ARGUMENT…]
//
// MODE is script (the program shares the group of its starter), job (it leads a
// group of its own) or terminal (a job in the foreground of the terminal at
// standard input). STATUS appears when the program itself has ended; what it
// left behind is waited for after that, and killed when SECONDS are over.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void nap(void) {
	struct timespec t = {0, 2000000};
	nanosleep(&t, 0);
}

static void note(const char *path, const char *word, int number) {
	FILE *f = fopen(path, "ae");
	if (!f) {
		perror(path);
		exit(125);
	}
	fprintf(f, "%s %d\n", word, number);
	fclose(f);
}

// killChildren kills the processes whose parent we are by now.
static void killChildren(void) {
	char path[64], text[4096];
	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n < 0 ? 0 : n] = 0;
	for (char *p = strtok(text, " "); p; p = strtok(0, " "))
		kill(atoi(p), SIGKILL);
}

// endAll kills what is left, generation by generation.
static int endAll(void) {
	int ended = 0, status;
	for (double end = now() + 5; now() < end;) {
		killChildren();
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0 && errno == ECHILD)
			break;
		if (pid > 0)
			ended++;
		else
			nap();
	}
	return ended;
}

// asAtLogin undoes what the test inherited, as from nohup: the same program then
// starts alike wherever the test runs.
static void asAtLogin(void) {
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, 0);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL); // an error is of those that nobody may set
}

static void start(const char *mode, char **command) {
	asAtLogin();
	if (strcmp(mode, "script"))
		setpgid(0, 0);
	if (!strcmp(mode, "terminal")) {
		signal(SIGTTOU, SIG_IGN);
		tcsetpgrp(0, getpgrp());
		signal(SIGTTOU, SIG_DFL);
	}
	execvp(command[0], command);
	int why = errno;
	perror(command[0]);
	_exit(why == ENOENT ? 127 : 126);
}

// awaitMain waits for the program itself.
static void awaitMain(pid_t pid, const char *path, double end) {
	for (;;) {
		int status;
		pid_t got = waitpid(-1, &status, WNOHANG | WUNTRACED);
		if (got == pid && WIFSTOPPED(status)) {
			note(path, "stopped", WSTOPSIG(status));
			kill(-pid, SIGCONT);
			kill(pid, SIGCONT);
		} else if (got == pid) {
			if (WIFEXITED(status))
				note(path, "exit", WEXITSTATUS(status));
			else
				note(path, "signal", WTERMSIG(status));
			return;
		} else if (got <= 0) {
			if (now() > end) {
				note(path, "hangs", 0);
				return;
			}
			nap();
		}
	}
}

static pid_t job;

// hangUp tells the job, as a shell does, that the terminal is gone.
static void hangUp(int number) { kill(-job, SIGHUP); }

int main(int argc, char **argv) {
	if (argc < 5)
		return 125;
	const char *path = argv[1], *mode = argv[2];
	double end = now() + atof(argv[3]);
	close_range(3, ~0U, 0); // what the test inherited is not the child's
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	setsid();
	if (!strcmp(mode, "terminal") && ioctl(0, TIOCSCTTY, 0) < 0)
		perror("TIOCSCTTY");
	// The job may have the terminal hung up before we run again: we wait with that
	// signal until we know the job.
	sigset_t hup;
	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	sigprocmask(SIG_BLOCK, &hup, 0);
	pid_t pid = fork();
	if (pid == 0)
		start(mode, argv + 4);
	if (!strcmp(mode, "terminal")) {
		signal(SIGTTOU, SIG_IGN);
		job = pid;
		signal(SIGHUP, hangUp);
	}
	sigprocmask(SIG_UNBLOCK, &hup, 0);
	// What we keep open ourselves would keep readers of it waiting.
	int nothing = open("/dev/null", O_RDWR);
	if (strcmp(mode, "terminal"))
		dup2(nothing, 0);
	dup2(nothing, 1), dup2(nothing, 2);
	awaitMain(pid, path, end);
	for (int status; now() < end;) {
		pid_t got = waitpid(-1, &status, WNOHANG);
		if (got < 0 && errno == ECHILD)
			return 0;
		if (got == 0)
			nap();
	}
	note(path, "left", endAll());
	return 0;
}
