/* The driver's pools of stream-ordered memory. See pools.c. */
#ifndef GPUMEM_POOLS_H
#define GPUMEM_POOLS_H

#include "bind.h"
#include "event.h"

/* How long is between two looks at least. A pool gives memory back to the device at a
 * synchronisation only: hence the second number. */
#define BETWEEN_CALLS 10000000u /* ns */
#define BETWEEN_SYNCS 100000u

/* Pools are asked after these kinds. */
#define OF_POOLS(kind) ((kind) == K_ASYNC || (kind) == K_FREE_ASYNC || (kind) == K_POOL || (kind) == K_FREE || (kind) == K_POOL_TRIM)
#define ENDS_POOLS(kind) ((kind) == K_POOL_DESTROY || (kind) == K_CTX_DESTROY || (kind) == K_PRIMARY_RESET || (kind) == K_PRIMARY_RELEASE)

#pragma GCC visibility push(hidden)

extern int asks_purge; /* trim the pools when the program exits */

void learn_pool(struct owner *o, u64 handle, int device, u32 hip);
void learn_default(struct owner *o, int device, u32 hip);
void forget_pools(u64 handle);
void look_at_pools(u64 between, struct place from);

#pragma GCC visibility pop

/* is_due reports whether the pools may be asked after an event. What is given back in the
 * order of a stream is used until the stream is there: few of these calls look at the clock. */
static inline int is_due(const struct owner *o, const struct event *v)
{
	static const u32 every = 16;
	if (v->kind == K_FREE_ASYNC && ++thread.frees % every)
		return 0;
	return (int64_t)(now(CLOCK_MONOTONIC_COARSE) - load(&o->asked)) >= (int64_t)BETWEEN_CALLS;
}

/* after is what a call that succeeded and was recorded means for the pools. */
static inline __attribute__((always_inline)) void after(const struct event *v, u32 hip, struct place from)
{
	struct owner *o = load(&owner);
	if (!o)
		return;
	if (v->kind == K_ASYNC && v->pool)
		learn_pool(o, v->pool, v->device, hip);
	else if (v->kind == K_ASYNC && v->device >= 0 && v->device < 64 && !(load(&o->defaults[hip]) >> v->device & 1))
		learn_default(o, v->device, hip);
	if (v->kind == K_POOL && v->device >= 0)
		learn_pool(o, v->ptr, v->device, hip);
	if (load(&o->pooled) && is_due(o, v))
		look_at_pools(BETWEEN_CALLS, from);
}

#endif
