/* What all files of the interposer share: words, atomics, and the state of a thread. */
#ifndef GPUMEM_BASE_H
#define GPUMEM_BASE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef uint64_t u64;
typedef uint32_t u32;

#define EXPORT __attribute__((visibility("default")))
#define load(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)

/* Where a hook was called from: its frame, and its caller's stack pointer. */
struct place {
	void **fp;
	uintptr_t sp;
};

#pragma GCC visibility push(hidden)

/* What is known of the thread that calls. */
extern __thread struct thread {
	u32 depth, tid, pid; /* depth: it is in a function of the driver's */
	u32 frees;           /* in the order of a stream, that it asked for */
	int32_t device;
	u64 ctx;
	uintptr_t low, high; /* what of the stack may be read */
} thread __attribute__((tls_model("initial-exec")));

#pragma GCC visibility pop

static inline u64 now(int clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

static inline int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

#endif
