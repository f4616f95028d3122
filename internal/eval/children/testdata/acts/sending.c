// Signals from outside: one who sends them, and programs that get them.
#include "acts.h"

static volatile sig_atomic_t got;
static void onSignal(int number) { got = number; }

// await says that it is ready, and whether the signal came; or, with "end",
// waits to be ended by it.
static int await(int argc, char **argv) {
	int number = atoi(argv[1]);
	if (argc > 2)
		signal(number, SIG_DFL);
	else
		signal(number, onSignal);
	printf("ready\n");
	fflush(stdout);
	for (int i = 0; i < 75 && !got; i++)
		nap(20);
	if (got)
		return printf("got signal %d\n", number), 4;
	return printf("it never came\n"), 5;
}

// family is a parent that handles a signal and ends its child in order; the
// child says when the signal came to it as well.
static int family(int argc, char **argv) {
	int number = atoi(argv[1]);
	signal(number, onSignal);
	pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < 500 && !got; i++)
			nap(20);
		_exit(got ? 6 : 7);
	}
	nap(50);
	printf("ready\n");
	fflush(stdout);
	for (int i = 0; i < 75 && !got; i++)
		nap(20);
	printf("%s\n", got ? "the parent got it" : "it never came");
	nap(200);
	int status = 0;
	if (waitpid(child, &status, WNOHANG) == child)
		printf("the child got it as well\n");
	kill(child, SIGKILL);
	fflush(stdout);
	return 4;
}

// sending starts a program, waits until it says that it is ready, sends it the
// signals, and shows what it said and how it ended: send NUMBER,NUMBER… COMMAND
static int sending(int argc, char **argv) {
	int pipes[2];
	if (pipe(pipes))
		return 1;
	pid_t pid = fork();
	if (pid == 0) {
		dup2(pipes[1], 1);
		close(pipes[0]), close(pipes[1]);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	close(pipes[1]);
	FILE *said = fdopen(pipes[0], "r");
	char line[1024];
	int sent = 0;
	while (fgets(line, sizeof line, said)) {
		fputs(line, stdout);
		fflush(stdout);
		if (sent || strcmp(line, "ready\n"))
			continue;
		sent = 1;
		for (char *p = strtok(argv[1], ","); p; p = strtok(0, ",")) {
			nap(sent++ > 1 ? 500 : 150);
			kill(pid, atoi(p));
		}
	}
	int status = 0;
	waitpid(pid, &status, 0);
	printf("ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return 0;
}

const struct act sendingActs[] = {{"await", await}, {"family", family}, {"send", sending}, {0}};
