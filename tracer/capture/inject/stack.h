/* Who called, as return addresses. See stack.c. */
#ifndef GPUMEM_STACK_H
#define GPUMEM_STACK_H

#include "base.h"
#include "unwind.h"

#define FRAMES 9

#pragma GCC visibility push(hidden)

extern int program_in_go;
extern u32 want_frames; /* how many are wanted; 0 is none */

/* stack_bounds finds what may be read above sp, for this thread. */
void stack_bounds(uintptr_t sp);

/* walk_go goes on in a program in Go, behind n frames, and returns how many there are. */
u32 walk_go(uintptr_t at, u64 *out, u32 n);

#pragma GCC visibility pop

/* walk writes up to want_frames return addresses and returns their number. It finds out
 * by the tables of exceptions who called, and by frame pointers where these tell less:
 * code that is made at run time has none. */
static inline __attribute__((always_inline)) u32 walk(struct place from, u64 *out)
{
	u32 n = 0;
	void **fp = from.fp;
	uintptr_t pc = (uintptr_t)fp[1];
	if ((uintptr_t)fp < thread.low || (uintptr_t)fp >= thread.high)
		stack_bounds((uintptr_t)fp);
#ifdef __aarch64__
	pc &= 0x0000ffffffffffffu;
#endif
	if ((n = unwind(pc, from.sp, (uintptr_t)fp[0], thread.high, out, want_frames)) > 1)
		return n;
	n = 0;
	while (n < want_frames) {
		uintptr_t next = (uintptr_t)fp[0], pc = (uintptr_t)fp[1];
#ifdef __aarch64__
		pc &= 0x0000ffffffffffffu; /* return addresses may be signed */
#endif
		if (!pc)
			break;
		out[n++] = pc;
		if (next <= (uintptr_t)fp || next >= thread.high - 16 || next & 7) {
			n = walk_go(next, out, n);
			break;
		}
		fp = (void **)next;
	}
	return n;
}

#endif
