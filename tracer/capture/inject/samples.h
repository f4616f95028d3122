/* Samples of what an allocator hands out, with the lines of Python that asked. See samples.c. */
#ifndef GPUMEM_SAMPLES_H
#define GPUMEM_SAMPLES_H

#include "base.h"

#define SAMPLE_BITS (1u << 16) /* of the filter */

struct sampled;

/* One allocator's window, in static memory: all are zero at first. */
struct samples {
	int64_t left;                  /* bytes until the next sample */
	u64 calls;                     /* that asked for a block, since the window was opened */
	u64 filter[SAMPLE_BITS / 64];  /* a bit for each block that may be sampled; none while no window is open */
	struct sampled *all;           /* what was taken; null before the first window */
};

#pragma GCC visibility push(hidden)

/* samples_begin begins a window in which one of so many bytes is sampled. It returns 0 where there is no
 * memory for one. What it takes stays: somebody may be at it for ever. */
int samples_begin(struct samples *s, u64 period);

/* samples_end lets nothing more be sampled. */
void samples_end(struct samples *s);

/* samples_tell writes, for each line, "BYTES MARKED COUNT FILE:LINE NAME" of what was asked for in the
 * first so many milliseconds of the window that ended last, and not given back; behind a tab
 * there is the line of the program that called the function for most of it. MARKED are the bytes
 * among them that were marked, which are left out without knows_marked. It returns the length; what has
 * no room is left out. */
size_t samples_tell(struct samples *s, unsigned first, int knows_marked, char *out, size_t room);

void samples_take(struct samples *s, void *p, size_t n, u32 is_marked);
void samples_forget(struct samples *s, const void *p);

#pragma GCC visibility pop

static inline u64 *samples_word(struct samples *s, const void *p)
{
	return &s->filter[(uintptr_t)p >> 10 & (SAMPLE_BITS / 64 - 1)];
}

static inline u64 samples_bit(const void *p) { return 1ull << ((uintptr_t)p >> 4 & 63); }

/* samples_came is told of each block that is handed out in a window, by one thread at a time. */
static inline void samples_came(struct samples *s, void *p, size_t n, u32 is_marked)
{
	s->calls++;
	if (__builtin_expect((s->left -= (int64_t)n) < 0, 0))
		samples_take(s, p, n, is_marked);
}

/* samples_went is told of each that is given back, by any thread. */
static inline void samples_went(struct samples *s, const void *p)
{
	if (__builtin_expect((*samples_word(s, p) & samples_bit(p)) != 0, 0))
		samples_forget(s, p);
}

#endif
