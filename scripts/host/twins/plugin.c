/* A plugin of plugins.c: its constructor takes memory of the device, and its destructor gives
 * that back where HEALTHY is set. */
#include "cuda.h"

static uint64_t taken;

__attribute__((constructor)) static void open_plugin(void)
{
	device();
	if (cuMemAlloc_v2(&taken, 1 << 20))
		abort();
}

__attribute__((destructor)) static void close_plugin(void)
{
	if (getenv("HEALTHY"))
		cuMemFree_v2(taken);
}
