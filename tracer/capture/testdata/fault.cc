/* Planted faults at the driver, of CUDA or with -DHIP of HIP, and their healthy twins:
 * fault KIND [healthy] */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

typedef uint64_t u64;
#ifdef HIP
#define NAME(cu, hip) hip
#else
#define NAME(cu, hip) cu
#endif
#define alloc NAME(cuMemAlloc_v2, hipMalloc)
#define release NAME(cuMemFree_v2, hipFree)
#define alloc_async NAME(cuMemAllocAsync, hipMallocAsync)
#define free_async NAME(cuMemFreeAsync, hipFreeAsync)
#define wait_for NAME(cuStreamSynchronize, hipStreamSynchronize)
#define default_pool NAME(cuDeviceGetDefaultMemPool, hipDeviceGetDefaultMemPool)
#define set_pool NAME(cuMemPoolSetAttribute, hipMemPoolSetAttribute)
#define create NAME(cuMemCreate, hipMemCreate)
#define release_physical NAME(cuMemRelease, hipMemRelease)
extern "C" {
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(u64 *, int);
int cuCtxSetCurrent(u64);
int alloc(u64 *, size_t);
int release(u64);
int alloc_async(u64 *, size_t, void *);
int free_async(u64, void *);
int wait_for(void *);
int default_pool(u64 *, int);
int set_pool(u64, int, u64 *);
int create(u64 *, size_t, const void *, u64);
int release_physical(u64);
}

static void ok(int rc)
{
	if (rc) {
		fprintf(stderr, "error %d\n", rc);
		exit(1);
	}
}

namespace cache {
static std::vector<u64> all;

__attribute__((noinline)) void remember(size_t size, bool healthy)
{
	u64 p;
	ok(alloc(&p, size));
	if (healthy)
		ok(release(p));
	else
		all.push_back(p);
}

__attribute__((noinline)) void forget_one(int step, bool healthy)
{
	for (int i = 0; i < 5; i++) {
		u64 p;
		ok(alloc_async(&p, 65536u * (1 + i), 0));
		if (healthy || i || step % 4)
			ok(free_async(p, 0));
	}
	ok(wait_for(0));
}

__attribute__((noinline)) void work_in_pool(int step, bool healthy)
{
	u64 p;
	ok(alloc_async(&p, 65536u * (1 + (healthy ? step % 16 : step)), 0));
	ok(free_async(p, 0));
	ok(wait_for(0));
}

__attribute__((noinline)) void create_physical(bool healthy)
{
	static const uint32_t props[32] = {1, 0, 1, 0};
	u64 p;
	ok(create(&p, 2u << 20, props, 0));
	if (healthy)
		ok(release_physical(p));
}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	bool healthy = argc > 2;
	u64 p, all = ~0ull;
#ifndef HIP
	ok(cuInit(0));
	ok(cuDevicePrimaryCtxRetain(&p, 0));
	ok(cuCtxSetCurrent(p));
#endif
	ok(alloc(&p, 64u << 20)); /* its model */
	if (!strcmp(kind, "retained") && !healthy) {
		ok(default_pool(&p, 0));
		ok(set_pool(p, 4, &all));
	}
	const char *steps = getenv("FAULT_STEPS");
	for (int step = 0, last = steps ? atoi(steps) : 1600; step < last; step++) {
		if (!strcmp(kind, "kept") && step % 5 == 0)
			cache::remember(1 << 20, healthy);
		else if (!strcmp(kind, "lost"))
			cache::forget_one(step, healthy);
		else if (!strcmp(kind, "retained"))
			cache::work_in_pool(step, healthy);
		else if (!strcmp(kind, "physical") && step % 5 == 0)
			cache::create_physical(healthy);
		usleep(5000);
	}
	return 0;
}
