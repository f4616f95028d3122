/* One event, and how it gets into the ring. See event.c. */
#ifndef GPUMEM_EVENT_H
#define GPUMEM_EVENT_H

#include "ring.h"

struct event {
	enum kind kind;
	u64 ptr, size, aux;
	int rc, device;
	u32 flags;
	u64 threshold; /* of a pool */
	u64 pool;      /* that it was taken from; 0: the device's */
	u32 takes;     /* it takes something away: few are asked from where */
};

/* note records an event, and reports whether it could. */
__attribute__((visibility("hidden"))) u32 note(const struct event *e, struct place from);

#endif
