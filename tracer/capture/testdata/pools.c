/* A program with the driver's pools of stream-ordered memory, of CUDA or with -DHIP
 * of HIP: pools SCENARIO. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uint64_t u64;
#ifdef HIP
#define NAME(cu, hip) hip
#else
#define NAME(cu, hip) cu
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(u64 *, int);
int cuDevicePrimaryCtxReset_v2(int);
int cuCtxSetCurrent(u64);
#endif
#define alloc NAME(cuMemAlloc_v2, hipMalloc)
#define release NAME(cuMemFree_v2, hipFree)
#define alloc_async NAME(cuMemAllocAsync, hipMallocAsync)
#define alloc_from NAME(cuMemAllocFromPoolAsync, hipMallocFromPoolAsync)
#define free_async NAME(cuMemFreeAsync, hipFreeAsync)
#define stream_sync NAME(cuStreamSynchronize, hipStreamSynchronize)
#define default_pool NAME(cuDeviceGetDefaultMemPool, hipDeviceGetDefaultMemPool)
#define set_pool NAME(cuMemPoolSetAttribute, hipMemPoolSetAttribute)
#define make_pool NAME(cuMemPoolCreate, hipMemPoolCreate)
#define end_pool NAME(cuMemPoolDestroy, hipMemPoolDestroy)
#define make_event NAME(cuEventCreate, hipEventCreateWithFlags)
#define pin NAME(cuMemHostAlloc, hipHostMalloc)
#define create NAME(cuMemCreate, hipMemCreate)
int alloc(u64 *, size_t);
int release(u64);
int alloc_async(u64 *, size_t, void *);
int alloc_from(u64 *, size_t, u64, void *);
int free_async(u64, void *);
int stream_sync(void *);
int default_pool(u64 *, int);
int set_pool(u64, int, u64 *);
int make_pool(u64 *, const void *);
int end_pool(u64);
int make_event(u64 *, unsigned);
int pin(void **, size_t, unsigned);
int create(u64 *, size_t, const void *, u64);

#define OK(x) do { int rc_ = (x); if (rc_) { fprintf(stderr, "%s: %d\n", #x, rc_); exit(2); } } while (0)
#define MIB (1ull << 20)
static const struct { uint32_t type, handles, location, id, rest[40]; } props = {1, 0, 1, 0, {0}};

/* Longer than two looks at the pools are apart. */
static void pause_and(void) { usleep(30000); }

__attribute__((noinline)) void burst(u64 pool, int keep)
{
	u64 p[4];
	for (int i = 0; i < 4; i++)
		OK(pool ? alloc_from(&p[i], 8 * MIB, pool, 0) : alloc_async(&p[i], 8 * MIB, 0));
	for (int i = keep; i < 4; i++)
		OK(free_async(p[i], 0));
	__asm__ volatile("" ::: "memory");
}

static void keep_all(u64 pool)
{
	u64 all = ~0ull;
	OK(set_pool(pool, 4, &all));
}

static void *worker(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3000; i++) {
		u64 pool, p;
		OK(make_pool(&pool, &props));
		OK(alloc_from(&p, 4096, pool, 0));
		OK(free_async(p, 0));
		OK(stream_sync(0));
		OK(end_pool(pool));
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	u64 pool = 0, p;
	void *host;
#ifndef HIP
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&p, 0));
	OK(cuCtxSetCurrent(p));
#endif
	OK(default_pool(&pool, 0));
	if (!strcmp(what, "retains")) { /* 32 MiB reserved, nothing used */
		keep_all(pool);
		burst(0, 0);
		pause_and();
		OK(stream_sync(0));
	} else if (!strcmp(what, "returns")) { /* all given back */
		burst(0, 0);
		pause_and();
		OK(stream_sync(0));
	} else if (!strcmp(what, "loses")) { /* three of four blocks lost, 8 MiB idle */
		keep_all(pool);
		burst(0, 3);
		pause_and();
		OK(stream_sync(0));
	} else if (!strcmp(what, "small")) { /* 4 bytes each; a pool gives 512 */
		for (int i = 0; i < 1000; i++)
			OK(alloc_async(&p, 4, 0));
		pause_and();
		OK(stream_sync(0));
	} else if (!strcmp(what, "last")) { /* what comes after the last look at the pools */
		keep_all(pool);
		OK(alloc_async(&p, MIB, 0));
		OK(stream_sync(0));
		burst(0, 2);
	} else if (!strcmp(what, "own")) { /* a pool of the program's, given up, then another */
		OK(make_pool(&pool, &props));
		keep_all(pool);
		burst(pool, 0);
		OK(end_pool(pool));
		OK(make_pool(&pool, &props));
		keep_all(pool);
		burst(pool, 0);
		pause_and();
		burst(pool, 1);
	} else if (!strcmp(what, "threads")) { /* nobody asks a pool that is gone */
		pthread_t t[4];
		for (int i = 0; i < 4; i++)
			pthread_create(&t[i], 0, worker, 0);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], 0);
#ifndef HIP
	} else if (!strcmp(what, "reset")) {
		burst(0, 0);
		OK(cuDevicePrimaryCtxReset_v2(0));
#endif
	} else if (!strcmp(what, "all")) { /* one of each, for HIP */
		OK(alloc(&p, 5 * MIB));
		OK(alloc(&p, MIB));
		OK(release(p));
		OK(pin(&host, MIB, 0));
		OK(make_event(&p, 0));
		OK(create(&p, 2 * MIB, &props, 0));
		burst(0, 1);
	} else
		return 4;
	return 0;
}
