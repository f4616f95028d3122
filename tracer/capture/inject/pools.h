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
void look_at_pools(u64 time, u64 between, struct place from);

#pragma GCC visibility pop

/* after is what a call that succeeded means for the pools. */
static inline __attribute__((always_inline)) void after(const struct event *v, u64 time, u32 hip, struct place from)
{
	struct owner *o = load(&owner);
	if (!o || !time)
		return;
	if (v->kind == K_ASYNC && v->pool)
		learn_pool(o, v->pool, v->device, hip);
	else if (v->kind == K_ASYNC && v->device >= 0 && v->device < 64 && !(load(&o->defaults[hip]) >> v->device & 1))
		learn_default(o, v->device, hip);
	if (v->kind == K_POOL && v->device >= 0)
		learn_pool(o, v->ptr, v->device, hip);
	if (load(&o->pooled) && (int64_t)(time - load(&o->asked)) >= (int64_t)BETWEEN_CALLS)
		look_at_pools(time, BETWEEN_CALLS, from);
}

#endif
