/* A pool of stream-ordered memory for each job, all of it freed; the pool keeps 4 MiB. Faulty:
 * the pool is never destroyed. */
#include "cuda.h"

int main(int argc, char **argv)
{
	time_t end = time(NULL) + atoi(argv[1]);
	uint64_t pool, p[4], all = ~0ull;
	int props[22] = {1, 0, 1};
	for (device(); time(NULL) < end; usleep(900000)) {
		if (cuMemPoolCreate(&pool, props))
			return 1;
		cuMemPoolSetAttribute(pool, 4, &all);
		for (int i = 0; i < 4; i++)
			cuMemAllocFromPoolAsync(&p[i], 1 << 20, pool, NULL);
		for (int i = 0; i < 4; i++)
			cuMemFreeAsync(p[i], NULL);
		cuStreamSynchronize(NULL);
		if (argc > 2)
			cuMemPoolDestroy(pool);
	}
}
