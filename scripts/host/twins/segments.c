/* A shared segment for each message, unmapped when it was sent. Faulty: it is never unlinked,
 * and stays when the program has ended: a warning says so, no process's memory shows it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 200000 };

int main(int argc, char **argv)
{
	time_t end = time(NULL) + atoi(argv[1]);
	for (int i = 0; time(NULL) < end; i++, usleep(100000)) {
		char name[64];
		sprintf(name, "/twins-%d-%d", getpid(), i);
		int fd = shm_open(name, O_CREAT | O_RDWR, 0600);
		if (fd < 0 || ftruncate(fd, SIZE))
			return 1;
		char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		memset(p, 1, SIZE);
		munmap(p, SIZE);
		close(fd);
		if (argc > 2)
			shm_unlink(name);
	}
}
