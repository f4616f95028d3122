/* The program ends after a third of the time; its daemon, forked twice, lives on. Faulty: the
 * daemon keeps what it takes. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void serve(time_t end, int healthy)
{
	for (setsid(); time(NULL) < end; usleep(20000)) {
		char *p = memset(malloc(50000), 1, 50000);
		if (healthy)
			free(p);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int seconds = atoi(argv[1]);
	if (!fork()) {
		if (!fork())
			serve(time(NULL) + seconds, argc > 2);
		_exit(0);
	}
	sleep(seconds / 3);
}
