/* Samples what PyTorch's allocators hand out, with the line of Python that asked, for some seconds.
 * The agent opens such a window and closes it, on a thread of its own. In a window the words through which
 * the allocators' libraries call a function point to us, who pass each call on; outside of one nothing is
 * changed.
 *
 * Of a device: the driver's calls tell where a pool took a segment, which is not where what lies in it was
 * asked for. The allocators report each block to PyTorch's profiler, by
 *
 *   c10::reportMemoryUsageToProfiler(void *block, int64_t bytes, size_t allocated, size_t reserved, Device)
 *
 * (c10/core/Allocator.h), with less than 0 bytes of one that comes back, under the lock of one device's
 * allocator.
 *
 * Of the host: c10/core/impl/alloc_cpu.cpp asks posix_memalign for the data of a tensor, and gives it back
 * by free.
 *
 * We take no lock: where two threads ask at once, one of them is not sampled. */
#include <stdlib.h>

#include "bind.h"
#include "deep.h"
#include "samples.h"

#define DEVICES "libc10_" /* _cuda, _hip, _xpu */
#define HOST "libc10.so"
#define PATIENCE 100000 /* looks at a call that is still under way */

struct window {
	struct samples samples;
	u32 is_open, taking;
};

static void came(struct window *w, void *p, size_t n)
{
	if (load(&w->is_open) && !__atomic_exchange_n(&w->taking, 1, __ATOMIC_ACQUIRE)) {
		samples_came(&w->samples, p, n, 0);
		store(&w->taking, 0);
	}
}

/* close_window ends a window whose words are restored. */
static size_t close_window(struct window *w, unsigned first, char *out, size_t room)
{
	store(&w->is_open, 0);
	for (int i = 0; load(&w->taking) && i < PATIENCE; i++)
		;
	samples_end(&w->samples);
	return samples_tell(&w->samples, first, 1, out, room);
}

/* ---- devices ------------------------------------------------------------- */

/* The last argument is a structure of two small numbers, in one register. */
typedef void (*report_fn)(void *, int64_t, size_t, size_t, u64);

static struct window blocks = {.samples.left = INT64_MAX};
static struct deep_words reports;
static report_fn report;

static void reported(void *block, int64_t bytes, size_t allocated, size_t reserved, u64 device)
{
	if (bytes < 0)
		samples_went(&blocks.samples, block);
	else
		came(&blocks, block, (size_t)bytes);
	report(block, bytes, allocated, reserved, device);
}

static int find_reports(const char *name)
{
	void *bound;
	reports = (struct deep_words){.library = DEVICES, .function = name};
	if ((bound = deep_find(&reports, (void *)reported, next_export)))
		report = (report_fn)bound;
	return bound != 0;
}

/* gpumem_blocks_open begins to sample one of so many bytes. It returns 0 where no such allocator is. */
EXPORT int gpumem_blocks_open(u64 period)
{
	if (blocks.is_open || !period)
		return 0;
	if (!find_reports("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE") &&
	    !find_reports("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE")) /* before 2.0 */
		return 0;
	if (!samples_begin(&blocks.samples, period))
		return 0;
	store(&blocks.is_open, 1);
	deep_point(&reports, (void *)reported);
	return 1;
}

/* gpumem_blocks_calls is how many blocks were asked for since the window was opened. */
EXPORT u64 gpumem_blocks_calls(void) { return load(&blocks.samples.calls); }

/* gpumem_blocks_close ends a window and tells, by samples_tell, of its first so many milliseconds. */
EXPORT size_t gpumem_blocks_close(unsigned first, char *out, size_t room)
{
	if (!blocks.is_open)
		return 0;
	deep_restore(&reports, (void *)reported);
	return close_window(&blocks, first, out, room);
}

/* ---- the host ------------------------------------------------------------ */

static struct window tensors = {.samples.left = INT64_MAX};
static struct deep_words asks = {.library = HOST, .function = "posix_memalign"};
static struct deep_words frees = {.library = HOST, .function = "free", .of = DEEP_CALLS};
static struct deep_words givers = {.library = HOST, .function = "free", .of = DEEP_POINTERS};
static int (*real_ask)(void **, size_t, size_t);
static void (*real_free)(void *), (*real_giver)(void *);

static int asked(void **out, size_t alignment, size_t n)
{
	int rc = real_ask(out, alignment, n);
	if (rc == 0)
		came(&tensors, *out, n);
	return rc;
}

static void freed(void *p)
{
	samples_went(&tensors.samples, p);
	real_free(p);
}

/* given is the same where free is called by its address. */
static void given(void *p)
{
	samples_went(&tensors.samples, p);
	real_giver(p);
}

/* gpumem_tensors_open is gpumem_blocks_open for the data of tensors on the host. */
EXPORT int gpumem_tensors_open(u64 period)
{
	void *ask, *call, *giver;
	if (tensors.is_open || !period)
		return 0;
	ask = deep_find(&asks, (void *)asked, first);
	call = deep_find(&frees, (void *)freed, first);
	giver = deep_find(&givers, (void *)given, first);
	if (!ask || (!call && frees.count) || (!giver && givers.count) || frees.count + givers.count == 0 ||
	    !samples_begin(&tensors.samples, period))
		return 0;
	real_ask = (int (*)(void **, size_t, size_t))ask;
	real_free = (void (*)(void *))call;
	real_giver = (void (*)(void *))giver;
	store(&tensors.is_open, 1);
	deep_point(&frees, (void *)freed);
	deep_point(&givers, (void *)given);
	deep_point(&asks, (void *)asked);
	return 1;
}

EXPORT u64 gpumem_tensors_calls(void) { return load(&tensors.samples.calls); }

EXPORT size_t gpumem_tensors_close(unsigned first, char *out, size_t room)
{
	if (!tensors.is_open)
		return 0;
	deep_restore(&asks, (void *)asked);
	deep_restore(&frees, (void *)freed);
	deep_restore(&givers, (void *)given);
	return close_window(&tensors, first, out, room);
}
