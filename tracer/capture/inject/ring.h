/* The ring: a file that a process's events are written to. See ring.c; the layout is in
 * ../layout.go. */
#ifndef GPUMEM_RING_H
#define GPUMEM_RING_H

#include "stack.h"

#define HEADER_SIZE 4096
#define SLOT_SIZE 128
#define KINDS 64
#define DEFAULT_SLOTS 32768u

enum { /* header flags */
	F_SLOTS = 1,    /* the slots are backed by memory */
	F_COUNTS = 2,   /* they could not be: events are only counted */
	F_EXITED = 4,   /* the process ended by exit */
	F_FOREIGN = 8,  /* another library interposes dlsym as well */
	F_AUDIT = 16,   /* loaded by LD_AUDIT */
	F_DRIVER = 32,  /* a lookup in the driver was seen */
	F_MISSED = 64,  /* the driver handed out a function we could not wrap */
	F_PASSED = 128, /* a library that was opened with RTLD_DEEPBIND calls the driver past us */
};

enum kind {
	K_NONE,
	K_ALLOC, K_MANAGED, K_ASYNC, K_CREATE, K_ARRAY, K_MIPMAP, K_HOST, K_REGISTER, K_IPC, K_IMPORT,
	K_FREE, K_FREE_ASYNC, K_RELEASE, K_ARRAY_DESTROY, K_MIPMAP_DESTROY, K_FREE_HOST, K_UNREGISTER, K_IPC_CLOSE,
	K_MAP, K_UNMAP, K_RETAIN_HANDLE,
	K_POOL, K_POOL_DESTROY, K_POOL_TRIM,
	K_CTX, K_CTX_DESTROY, K_PRIMARY, K_PRIMARY_RELEASE, K_PRIMARY_RESET,
	K_INIT,
	K_EVENT, K_EVENT_DESTROY, K_STREAM, K_STREAM_DESTROY, K_GRAPH, K_GRAPH_DESTROY,
	K_MODULE, K_MODULE_UNLOAD, K_LIBRARY, K_LIBRARY_UNLOAD,
	K_POOL_STATE,
};

#define SLOT_UNDO 1      /* the free recorded just before by this thread failed */
#define SLOT_HOSTMEM 2   /* cuMemCreate of memory that is not a device's */
#define SLOT_UNSIZED 4   /* the size is not known */
#define SLOT_TRIM 8      /* what a pool had before we trimmed it at exit, or after */
#define SLOT_LAST 16     /* the latter */

struct header {
	char magic[8];
	u32 version, header_size, slot_size, capacity;
	u32 pid, parent;
	u64 start_realtime, start_monotonic;
	u64 flags, orphans;
	u64 head;
	u64 gap1[7];
	u64 lost;
	u64 gap2[7];
	u64 count[KINDS];
};

struct slot {
	u64 seq, time, ptr, size;
	u32 tid;
	uint16_t kind;
	int16_t rc, device;
	uint8_t nframes, flags;
	u32 check;
	u64 aux;
	u64 frames[FRAMES];
};
_Static_assert(sizeof(struct slot) == SLOT_SIZE, "slot");
_Static_assert(offsetof(struct header, head) == 64, "head");
_Static_assert(sizeof(struct header) <= HEADER_SIZE, "header");

/* What belongs to this process alone. It lies in a page that the kernel clears
 * in a forked child, which so finds no ring and opens its own. Only state
 * changes once the page is in use. */
struct owner {
	struct header *ring;
	u32 pid;    /* 0: the page was cleared */
	u32 number; /* the N of PID.N.ring */
	u32 slots;
	u32 state; /* 0: slots not asked for, or F_SLOTS, F_COUNTS, or GONE */
	u64 asked;  /* when the pools were asked last, ns */
	u64 defaults[2]; /* the devices whose default pool is known, a bit each: CUDA's, HIP's */
	u32 asking; /* a thread is asking the pools */
	u32 pooled; /* there are pools */
	struct pool {
		u64 handle; /* 0: free */
		int32_t device;
		u32 hip;
	} pools[128];
};
_Static_assert(sizeof(struct owner) <= 4096, "owner");
#define GONE 0x80000000u /* no ring could be made */
#define FEWEST_SLOTS 64u

#define DIRECTORY 3072
/* The name of a ring, in the caller's frame: threads may open rings at once. */
typedef char ring_name[DIRECTORY + 64];

#pragma GCC visibility push(hidden)

extern struct owner *owner;       /* null before the driver is near */
extern struct header *ancestor;   /* the ring opened last here or in a parent */
extern char directory[DIRECTORY]; /* of the rings; empty: nothing is recorded */
extern u32 capacity;              /* slots of a ring */
extern u32 audit;                 /* we are LD_AUDIT's */

/* put and put_number write text and return its end. */
char *put(char *at, const char *text);
char *put_number(char *at, u64 n);

void name_ring(char *at, const struct owner *o, const char *suffix);
u64 file_limit(void);

/* copy_maps notes what lies where, beside the ring. */
void copy_maps(const struct owner *o);

struct owner *begin(void);
void mark(u64 flags);
u32 wake(struct owner *o);

/* another_interposes reports whether another library interposes dlsym as well. It is
 * start.c's to know. */
int another_interposes(void);

#pragma GCC visibility pop

#endif
