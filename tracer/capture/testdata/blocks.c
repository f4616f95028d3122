/* A stub of PyTorch's allocators: what they report of each block of a device. -DPROFILER: the library that
 * is reported to and has the data of tensors on the host (libc10.so), else one that reports (libc10_cuda.so). */
#include <stdint.h>
#include <stdlib.h>

struct device {
	int8_t type, index;
};

void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *, int64_t, size_t, size_t, struct device);
#define report _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE

#ifdef PROFILER
static int64_t reported[2], calls;

void report(void *block, int64_t bytes, size_t allocated, size_t reserved, struct device d)
{
	if (block && allocated == 7 && reserved == 9 && d.type == 1 && (d.index == 0 || d.index == 1))
		__atomic_fetch_add(&reported[d.index], bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

void *tensor(size_t bytes)
{
	void *data;
	return posix_memalign(&data, 64, bytes) ? 0 : data;
}

static void (*volatile give)(void *) = free; /* as a deleter is kept */

void drop(void *data)
{
	if ((uintptr_t)data % 128)
		free(data);
	else
		give(data);
}

int64_t profiled(int index) { return reported[index]; }
int64_t profiler_calls(void) { return calls; }
#else
void *hand_out(size_t bytes, int index)
{
	void *block = aligned_alloc(512, 512); /* nobody writes to a device's memory here */
	report(block, (int64_t)bytes, 7, 9, (struct device){1, (int8_t)index});
	return block;
}

void take_back(void *block, size_t bytes, int index)
{
	report(block, -(int64_t)bytes, 7, 9, (struct device){1, (int8_t)index});
	free(block);
}
#endif
