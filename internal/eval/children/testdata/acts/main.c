#include "acts.h"

int told(const char *who, pid_t pid) {
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		printf("%s: %s\n", who, strerror(errno));
		return 1;
	}
	if (WIFEXITED(status))
		printf("%s: exit %d\n", who, WEXITSTATUS(status));
	else
		printf("%s: signal %d\n", who, WTERMSIG(status));
	fflush(stdout);
	return 0;
}

void nap(long ms) {
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

int main(int argc, char **argv) {
	const struct act *all[] = {startingActs, signalActs, loadingActs, fencedActs, memoryActs, sendingActs, 0};
	for (int i = 0; argc > 1 && all[i]; i++)
		for (const struct act *a = all[i]; a->name; a++)
			if (!strcmp(a->name, argv[1]))
				return a->run(argc - 1, argv + 1);
	fprintf(stderr, "acts: no such act\n");
	return 2;
}
