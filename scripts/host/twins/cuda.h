/* The functions of the CUDA driver that these programs call. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(uint64_t *, int);
int cuCtxSetCurrent(uint64_t);
int cuMemAlloc_v2(uint64_t *, size_t);
int cuMemFree_v2(uint64_t);
int cuStreamSynchronize(void *);
int cuMemPoolCreate(uint64_t *, const void *);
int cuMemPoolDestroy(uint64_t);
int cuMemPoolSetAttribute(uint64_t, int, const uint64_t *);
int cuMemAllocFromPoolAsync(uint64_t *, size_t, uint64_t, void *);
int cuMemFreeAsync(uint64_t, void *);
int cuMemCreate(uint64_t *, size_t, const void *, uint64_t);
int cuMemRelease(uint64_t);
int cuMemAddressReserve(uint64_t *, size_t, size_t, uint64_t, uint64_t);
int cuMemMap(uint64_t, size_t, size_t, uint64_t, uint64_t);
int cuMemUnmap(uint64_t, size_t);
#ifdef __cplusplus
}
#endif

static inline void device(void)
{
	uint64_t context;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		exit(1);
}
