/* A thread for each request, which ends. Faulty: it is never joined. Healthy: detached. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *serve(void *x)
{
	volatile char work[30000];
	memset((void *)work, 1, sizeof work);
	usleep(1000);
	return work[77] ? x : NULL;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + atoi(argv[1]);
	pthread_t t;
	for (; time(NULL) < end; usleep(30000))
		if (!pthread_create(&t, NULL, serve, NULL) && argc > 2)
			pthread_detach(t);
}
