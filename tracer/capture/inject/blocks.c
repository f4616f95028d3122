/* Samples the blocks of a device that PyTorch's allocators hand out, with the line of Python that
 * asked, for some seconds: the driver's calls tell where a pool took a segment, which
 * is not where what lies in it was asked for. The agent opens such a window and closes it, on a thread
 * of its own.
 *
 * The allocators report each block to PyTorch's profiler, by
 *
 *   c10::reportMemoryUsageToProfiler(void *block, int64_t bytes, size_t allocated, size_t reserved, Device)
 *
 * (c10/core/Allocator.h), with less than 0 bytes of one that comes back. In a window the words
 * through which they call this point to us, who pass each call on; outside of one nothing is
 * changed. A call comes under the lock of one device's allocator: we take none, and where two
 * devices' calls meet, one of them is not sampled. */
#include "bind.h"
#include "deep.h"
#include "samples.h"

#define ALLOCATORS "libc10_" /* _cuda, _hip, _xpu */
#define PATIENCE 100000      /* looks at a call that is still under way */

/* The last argument is a structure of two small numbers, in one register. */
typedef void (*report_fn)(void *, int64_t, size_t, size_t, u64);

static const char *const names[] = {
	"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
	"_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE", /* before 2.0 */
};

static struct samples samples = {.left = INT64_MAX};
static struct deep_words words;
static report_fn real;
static u32 is_open, taking;

static void reported(void *block, int64_t bytes, size_t allocated, size_t reserved, u64 device)
{
	if (bytes < 0) {
		samples_went(&samples, block);
	} else if (load(&is_open) && !__atomic_exchange_n(&taking, 1, __ATOMIC_ACQUIRE)) {
		samples_came(&samples, block, (size_t)bytes, 0);
		store(&taking, 0);
	}
	real(block, bytes, allocated, reserved, device);
}

/* find looks for the words, and for what they are bound to. */
static int find(const char *name)
{
	void *bound = 0;
	words = (struct deep_words){.library = ALLOCATORS, .function = name};
	for (int i = deep_find(&words) - 1; i >= 0; i--) {
		const struct deep_word *w = &words.words[i];
		if (w->bound == (void *)reported || (w->bound && bound && w->bound != bound))
			return 0; /* ours could not be taken away, or they call different things */
		bound = w->bound ? w->bound : bound;
	}
	if (words.count && !bound)
		bound = next_export(name);
	if (bound)
		real = (report_fn)bound;
	return bound != 0;
}

static int find_any(void)
{
	for (u32 i = 0; i < sizeof names / sizeof names[0]; i++)
		if (find(names[i]))
			return 1;
	return 0;
}

/* gpumem_blocks_open begins to sample one of so many bytes. It returns 0 where no such allocator is. */
EXPORT int gpumem_blocks_open(u64 period)
{
	if (is_open || !period || !find_any() || !samples_begin(&samples, period))
		return 0;
	store(&is_open, 1);
	for (int i = 0; i < words.count; i++)
		deep_put(&words.words[i], (void *)reported);
	return 1;
}

/* gpumem_blocks_calls is how many blocks were asked for since the window was opened. */
EXPORT u64 gpumem_blocks_calls(void) { return load(&samples.calls); }

/* gpumem_blocks_close ends a window and tells, by samples_tell, of its first so many milliseconds. */
EXPORT size_t gpumem_blocks_close(unsigned first, char *out, size_t room)
{
	if (!is_open)
		return 0;
	for (int i = 0; i < words.count; i++)
		if (load(words.words[i].at) == (void *)reported)
			deep_put(&words.words[i], words.words[i].was);
	store(&is_open, 0);
	for (int i = 0; load(&taking) && i < PATIENCE; i++)
		;
	samples_end(&samples);
	return samples_tell(&samples, first, 1, out, room);
}
