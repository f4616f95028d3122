#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pools.h"

/* The driver's stream-ordered pools tell how much of their memory is used. They are
 * asked by a thread of the program that has just called the driver with success, so
 * the driver lives and is not held by us; never more often than pools.h says. */
enum { POOL_THRESHOLD = 4, POOL_RESERVED = 5, POOL_USED = 7 }; /* CUmemPool_attribute, and HIP's */

int asks_purge; /* trim the pools when the program exits */
static void register_purge(void);

void learn_pool(struct owner *o, u64 handle, int device, u32 hip)
{
	u64 none = 0;
	struct pool *end = o->pools + sizeof o->pools / sizeof o->pools[0];
	if (!handle)
		return;
	for (struct pool *p = o->pools; p < end; p++)
		if (load(&p->handle) == handle)
			return;
	for (struct pool *p = o->pools; p < end; p++, none = 0)
		if (!load(&p->handle) && __atomic_compare_exchange_n(&p->handle, &none, handle, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
			p->device = device;
			p->hip = hip;
			break;
		}
	if (asks_purge)
		register_purge();
	store(&o->pooled, 1);
}

/* learn_default notes the pools that cuMemAllocAsync takes from on a device. */
void learn_default(struct owner *o, int device, u32 hip)
{
	u64 pool = 0;
	if (device < 0 || device > 63 || (load(&o->defaults[hip]) >> device & 1) || !load(&pool_calls[hip].get) ||
	    !pool_calls[hip].of_device)
		return;
	thread.depth++;
	if (pool_calls[hip].of_device((u64)&pool, (u64)device, 0, 0, 0, 0) == 0)
		learn_pool(o, pool, device, hip);
	if (pool_calls[hip].current && pool_calls[hip].current((u64)&pool, (u64)device, 0, 0, 0, 0) == 0)
		learn_pool(o, pool, device, hip);
	thread.depth--;
	__atomic_fetch_or(&o->defaults[hip], 1ull << device, __ATOMIC_RELEASE);
}

/* ask_pools records what each pool has. One thread asks, others pass by. Calls that
 * are forbidden while a stream is captured stay allowed to us. */
static void ask_pools(struct owner *o, u32 flags, struct place from)
{
	u32 mode[2] = {2, 2}; /* relaxed */
	if (__atomic_exchange_n(&o->asking, 1, __ATOMIC_SEQ_CST))
		return;
	thread.depth++;
	for (int hip = 0; hip < 2; hip++)
		if (load(&pool_calls[hip].get) && pool_calls[hip].capture_mode)
			pool_calls[hip].capture_mode((u64)&mode[hip], 0, 0, 0, 0, 0);
	for (struct pool *p = o->pools; p < o->pools + sizeof o->pools / sizeof o->pools[0]; p++) {
		u64 handle = __atomic_load_n(&p->handle, __ATOMIC_SEQ_CST), used = 0, reserved = 0, threshold = 0;
		fn6 get = load(&pool_calls[p->hip & 1].get);
		if (!handle || !get)
			continue;
		if ((flags & SLOT_LAST) && pool_calls[p->hip & 1].trim)
			pool_calls[p->hip & 1].trim(handle, 0, 0, 0, 0, 0);
		if (get(handle, POOL_USED, (u64)&used, 0, 0, 0) == 0 && get(handle, POOL_RESERVED, (u64)&reserved, 0, 0, 0) == 0) {
			struct event v = {.kind = K_POOL_STATE, .ptr = handle, .size = used, .aux = reserved, .device = p->device, .flags = flags};
			if (get(handle, POOL_THRESHOLD, (u64)&threshold, 0, 0, 0) == 0)
				v.threshold = threshold;
			note(&v, from);
		}
	}
	for (int hip = 0; hip < 2; hip++)
		if (load(&pool_calls[hip].get) && pool_calls[hip].capture_mode)
			pool_calls[hip].capture_mode((u64)&mode[hip], 0, 0, 0, 0, 0);
	thread.depth--;
	__atomic_store_n(&o->asking, 0, __ATOMIC_SEQ_CST);
}

/* forget_pools ends the asking of one pool, or of all, before the driver takes it
 * away: it returns when nobody asks that pool any more. */
void forget_pools(u64 handle)
{
	struct owner *o = load(&owner);
	if (!o || !load(&o->pooled))
		return;
	for (struct pool *p = o->pools; p < o->pools + sizeof o->pools / sizeof o->pools[0]; p++)
		if (handle == 0 || load(&p->handle) == handle)
			__atomic_store_n(&p->handle, 0, __ATOMIC_SEQ_CST);
	if (handle == 0)
		o->defaults[0] = o->defaults[1] = 0;
	while (thread.depth == 0 && __atomic_load_n(&o->asking, __ATOMIC_SEQ_CST))
		syscall(SYS_sched_yield);
}

/* look_at_pools asks the pools when that is due. */
__attribute__((noinline)) void look_at_pools(u64 between, struct place from)
{
	struct owner *o = load(&owner);
	int saved = errno;
	u64 last, time;
	if (!o || !load(&o->pooled) || load(&o->state) != F_SLOTS || thread.depth)
		return;
	last = load(&o->asked);
	time = now(CLOCK_MONOTONIC);
	if ((int64_t)(time - last) >= (int64_t)between && __atomic_compare_exchange_n(&o->asked, &last, time, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		ask_pools(o, 0, from);
	errno = saved;
}

/* purge gives back what the pools do not use, and records what they had before and
 * after. It runs before anything that was there at the first look at a pool ends:
 * the driver still lives. */
static void purge(void)
{
	struct owner *o = load(&owner);
	struct place from = {__builtin_frame_address(0), (uintptr_t)__builtin_dwarf_cfa()};
	int saved = errno;
	if (!o || load(&o->pid) != (u32)getpid() || load(&o->state) != F_SLOTS)
		return;
	ask_pools(o, SLOT_TRIM, from);
	ask_pools(o, SLOT_TRIM | SLOT_LAST, from);
	errno = saved;
}

static void register_purge(void)
{
	static u32 registered;
	if (!__atomic_exchange_n(&registered, 1, __ATOMIC_ACQ_REL))
		atexit(purge);
}
