/* gpumem's interposer: records the allocations that an unmodified program asks
 * of the CUDA driver, or of HIP's runtime (hip.h). Loaded by LD_PRELOAD (calls through the PLT, dlsym and
 * cuGetProcAddress are seen, and deep.c sees to libraries that are opened with
 * RTLD_DEEPBIND) or by LD_AUDIT. The layout of what it writes is in ../layout.go.
 *
 * Rules. A hook takes no lock and allocates nothing; errno stays as the driver
 * left it; the driver is never loaded by us; a function that the driver lacks
 * stays absent; what is not on the list below is passed on untouched. A free
 * is recorded before the driver is called, an allocation after it returned, so
 * that an address that is used again cannot be seen in the wrong order. A
 * program that never comes near the driver gets no ring and no memory of ours.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "deep.h"
#include "hipleft.h"
#include "python.h"
#include "unwind.h"

typedef uint64_t u64;
typedef uint32_t u32;

#define EXPORT __attribute__((visibility("default")))
#define load(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)

/* ---- the ring file ---------------------------------------------------- */

#define HEADER_SIZE 4096
#define SLOT_SIZE 128
#define FRAMES 9
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

static struct owner *owner;       /* null before the driver is near */
static struct header *ancestor;   /* the ring opened last here or in a parent */
static char directory[3072];      /* of the rings; empty: nothing is recorded */
static u32 capacity = DEFAULT_SLOTS, want_frames = FRAMES, audit, first_pid;
static int foreign_dlsym(void);
/* With LD_AUDIT we are loaded twice: the loader does not ask the auditor about
 * functions whose address is taken, these bind to a preloaded copy, which only
 * relays to the audited function. */
static u32 relay;

static __thread struct {
	u32 depth, tid, pid;
	int32_t device;
	u64 ctx;
	uintptr_t low, high; /* what of the stack may be read */
} thread __attribute__((tls_model("initial-exec")));

static u64 now(int clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

static char *put(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	*at = 0;
	return at;
}

static char *put_number(char *at, u64 n)
{
	char digits[24], *d = digits + sizeof digits - 1;
	*d = 0;
	do
		*--d = (char)('0' + n % 10);
	while (n /= 10);
	return put(at, d);
}

/* The name of a ring, in the caller's frame: threads may open rings at once. */
typedef char ring_name[sizeof directory + 64];

static void name_ring(char *at, const struct owner *o, const char *suffix)
{
	at = put_number(put(put(at, directory), "/"), o->pid);
	put(put_number(put(at, "."), o->number), suffix);
}

/* file_limit is how long a file of this process may become. Beyond that the
 * kernel sends SIGXFSZ, which ends a program that does not expect it. */
static u64 file_limit(void)
{
	struct rlimit r;
	return getrlimit(RLIMIT_FSIZE, &r) == 0 ? (u64)r.rlim_cur : 0;
}

static void copy_maps(const struct owner *o)
{
	ring_name name;
	char buf[4096];
	u64 left = file_limit();
	long n;
	int in = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), out;
	if (in < 0)
		return;
	name_ring(name, o, ".ring.maps");
	out = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (out >= 0 && (n = read(in, buf, sizeof buf)) > 0 && (u64)n <= left) {
		if (write(out, buf, (size_t)n) != n)
			break;
		left -= (u64)n;
	}
	if (out >= 0)
		close(out);
	close(in);
}

static size_t ring_size(const struct owner *o)
{
	return HEADER_SIZE + (size_t)o->slots * SLOT_SIZE;
}

/* fit_slots asks for as many slots as the process may have. */
static int fit_slots(struct owner *o)
{
	u64 limit = file_limit();
	for (o->slots = capacity; o->slots >= FEWEST_SLOTS; o->slots /= 2)
		if (ring_size(o) <= limit)
			return 1;
	return 0;
}

/* open_ring makes PID.N.ring; N counts the programs that this PID ran. Only
 * the header is given memory now: many a program looks at the driver and never
 * calls it. */
static struct header *open_ring(struct owner *o)
{
	ring_name name;
	struct header *h;
	int fd = -1;
	if (!fit_slots(o))
		return 0;
	for (o->number = 0; o->number < 100000; o->number++) {
		name_ring(name, o, ".ring");
		fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	if (fd < 0)
		return 0;
	/* Without the reservation a full file system would be a SIGBUS later. */
	if (syscall(SYS_fallocate, fd, 0, 0L, (long)HEADER_SIZE) < 0 || ftruncate(fd, (off_t)ring_size(o)) < 0)
		h = MAP_FAILED;
	else
		h = mmap(0, ring_size(o), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (h == MAP_FAILED) {
		unlink(name);
		return 0;
	}
	h->version = 1;
	h->header_size = HEADER_SIZE;
	h->slot_size = SLOT_SIZE;
	h->capacity = o->slots;
	h->pid = o->pid;
	h->parent = (u32)getppid();
	h->start_realtime = now(CLOCK_REALTIME);
	h->start_monotonic = now(CLOCK_MONOTONIC);
	h->flags = audit ? F_AUDIT : foreign_dlsym() ? F_FOREIGN : 0;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__builtin_memcpy(h->magic, "GPUMEM1\n", 8);
	return h;
}

/* back_slots gives the slots memory, without a file descriptor that the
 * program could have closed or used again. */
static u32 back_slots(const struct owner *o)
{
	ring_name name;
	char *slots = (char *)o->ring + HEADER_SIZE;
	size_t size = (size_t)o->slots * SLOT_SIZE;
	int fd, ok;
	if (madvise(slots, size, 23 /* MADV_POPULATE_WRITE, Linux 5.14 */) == 0)
		return F_SLOTS;
	name_ring(name, o, ".ring");
	fd = ring_size(o) <= file_limit() ? open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (fd < 0)
		return F_COUNTS;
	ok = syscall(SYS_fallocate, fd, 0, (long)HEADER_SIZE, (long)size) == 0;
	close(fd);
	return ok ? F_SLOTS : F_COUNTS;
}

static void forget_owner(void)
{
	struct owner *o = load(&owner);
	if (o)
		__builtin_memset(o, 0, sizeof *o);
}

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));

static void clear_in_children(struct owner *o)
{
	static u32 registered;
	if (madvise(o, 4096, 18 /* MADV_WIPEONFORK, Linux 4.14 */) == 0 || !__register_atfork)
		return;
	if (!__atomic_exchange_n(&registered, 1, __ATOMIC_ACQ_REL))
		__register_atfork(0, 0, forget_owner, 0);
}

static void discard(struct owner *o)
{
	ring_name name;
	if (o->ring) {
		name_ring(name, o, ".ring");
		unlink(name);
		munmap(o->ring, ring_size(o));
	}
	munmap(o, 4096);
}

/* begin opens this process's ring. Several threads may be in here at once; the
 * first that is done wins, the others take back what they made. Null: nothing
 * is recorded. */
static __attribute__((noinline)) struct owner *begin(void)
{
	int saved = errno;
	struct owner *seen = load(&owner), *o;
	if (!directory[0] || (seen && load(&seen->pid)))
		return seen;
	o = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (o == MAP_FAILED) {
		errno = saved;
		return 0;
	}
	clear_in_children(o);
	o->pid = (u32)getpid();
	o->ring = open_ring(o);
	o->state = o->ring ? 0 : GONE;
	if (!__atomic_compare_exchange_n(&owner, &seen, o, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		discard(o);
		o = seen;
	} else if (o->ring)
		ancestor = o->ring;
	errno = saved;
	return o;
}

/* mark sets flags of this process's ring, if it has one. */
static void mark(u64 flags)
{
	struct owner *o = load(&owner);
	if (o && o->ring)
		__atomic_fetch_or(&o->ring->flags, flags, __ATOMIC_RELEASE);
}

/* wake makes the slots ready. Several threads may be in here at once; they do
 * the same. */
static __attribute__((noinline)) u32 wake(struct owner *o)
{
	int saved = errno;
	u32 state = back_slots(o), untouched = 0;
	if (__atomic_compare_exchange_n(&o->state, &untouched, state, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		mark(state);
		if (state == F_COUNTS) /* the program shall have what little room there is */
			madvise((char *)o->ring + HEADER_SIZE, ring_size(o) - HEADER_SIZE, MADV_REMOVE);
		copy_maps(o);
	} else
		state = untouched;
	errno = saved;
	return state;
}

/* ---- stacks ------------------------------------------------------------ */

/* readable asks the kernel, which refuses the call for its first argument but
 * reads the second before; every sandbox allows this call. */
static int readable(uintptr_t at)
{
	return syscall(SYS_rt_sigprocmask, ~0L, (void *)at, (void *)0, 8L) == 0 || errno != EFAULT;
}

/* stack_bounds finds what may be read above sp: up to the thread's descriptor,
 * which glibc puts above the stack, or to the main stack's end, and never
 * beyond a page that the kernel cannot read (stacks of coroutines). */
static __attribute__((noinline)) void stack_bounds(uintptr_t sp)
{
	int saved = errno;
	uintptr_t top = (uintptr_t)__builtin_thread_pointer(), at = sp & ~(uintptr_t)4095;
	if (top <= sp)
		top = (uintptr_t)getauxval(AT_RANDOM); /* the kernel puts it above the main stack */
	if (top <= sp || top > at + (256u << 10))
		top = at + (256u << 10);
	thread.low = at;
	while (at < top && readable(at))
		at += 4096;
	thread.high = at < top ? at : top;
	errno = saved;
}

/* Where a hook was called from: its frame, and its caller's stack pointer. */
struct place {
	void **fp;
	uintptr_t sp;
};

/* Go calls C on another stack than its own, and keeps frame pointers: the chain goes
 * on in Go's heap. Of a program in Go that is followed, by copies that the kernel makes:
 * it refuses what is no memory. */
static int program_in_go;

static u32 walk_go(uintptr_t at, u64 *out, u32 n)
{
	while (program_in_go && n < want_frames && at && !(at & 7)) {
		uintptr_t frame[2] = {0, 0};
		struct iovec to = {frame, sizeof frame}, from = {(void *)at, sizeof frame};
		int saved = errno;
		long got = syscall(SYS_process_vm_readv, (long)getpid(), &to, 1L, &from, 1L, 0L);
		errno = saved;
		if (got != sizeof frame || !frame[1])
			break;
		out[n++] = frame[1];
		if (frame[0] <= at)
			break;
		at = frame[0];
	}
	return n;
}

/* walk finds out by the tables of exceptions who called, and by frame pointers
 * where these tell less: code that is made at run time has none. */
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

/* ---- lines of Python ----------------------------------------------------- */

/* say_place appends "NUMBER TEXT" to PID.N.ring.places. */
static int say_place(u32 number, const char *text, size_t length)
{
	const struct owner *o = load(&owner);
	ring_name name;
	char line[1100], *end = put(put_number(line, number), " ");
	long size, n = 0;
	int fd;
	if (!o || length > sizeof line - 32)
		return 0;
	__builtin_memcpy(end, text, length);
	end[length] = '\n';
	length += (size_t)(end - line) + 1;
	name_ring(name, o, ".ring.places");
	fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return 0;
	size = lseek(fd, 0, SEEK_END);
	if (size >= 0 && (u64)size + length <= file_limit())
		n = write(fd, line, length);
	close(fd);
	return n == (long)length;
}

/* gpumem_python_wanted tells the agent that there are calls whose lines it could tell,
 * or that its parent was told and this process was not. */
EXPORT int gpumem_python_wanted(void)
{
	const struct owner *o = load(&owner);
	u32 told = python_told();
	return told != (u32)getpid() && (told || (o && load(&o->pid)));
}

/* frames_of writes who called: native frames, and behind them the line of Python. */
static u32 frames_of(const struct owner *o, struct place from, u64 *out)
{
	u32 n = walk(from, out), line = want_frames ? python_place(o->pid, say_place) : 0;
	if (line)
		out[n < FRAMES ? n++ : FRAMES - 1] = PYTHON_MARK | line;
	return n;
}

/* ---- one event --------------------------------------------------------- */

struct event {
	enum kind kind;
	u64 ptr, size, aux;
	int rc, device;
	u32 flags;
	u64 threshold; /* of a pool */
	u64 pool;      /* that it was taken from; 0: the device's */
	u32 takes;     /* it takes something away: nobody asks from where */
};

/* note returns when the event was recorded, 0 where it was not. */
static __attribute__((noinline)) u64 note(const struct event *e, struct place from)
{
	struct owner *o = load(&owner);
	struct header *h;
	struct slot *s;
	u32 state;
	u64 at, sum, time;
	if (__builtin_expect(!o || !load(&o->pid), 0) && !(o = begin()))
		return 0;
	state = load(&o->state);
	if (__builtin_expect(!state, 0))
		state = wake(o);
	if (__builtin_expect(state == GONE, 0)) {
		if (ancestor)
			add(&ancestor->orphans, 1);
		return 0;
	}
	h = o->ring;
	/* Of handles alone the reader wants to know how many there were also where events were
	 * lost; memory is told by its events. */
	if (e->rc == 0 && e->kind >= K_INIT)
		add(&h->count[e->kind], (e->flags & SLOT_UNDO) ? (u64)-1 : 1);
	if (__builtin_expect(state != F_SLOTS, 0)) {
		add(&h->lost, 1);
		return 0;
	}
	if (__builtin_expect(thread.pid != o->pid, 0)) {
		thread.tid = (u32)syscall(SYS_gettid);
		thread.pid = o->pid;
	}
	at = add(&h->head, 1);
	s = (struct slot *)((char *)h + HEADER_SIZE) + (at & (o->slots - 1));
	__atomic_store_n(&s->seq, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	/* The order of events is that of their numbers. A time that is some ms late costs a
	 * fifth of an exact one, which only refusals are shown with. */
	s->time = time = now(e->rc ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE);
	s->ptr = e->ptr;
	s->size = e->size;
	s->tid = thread.tid;
	s->kind = (uint16_t)e->kind;
	s->rc = (int16_t)e->rc;
	s->device = (int16_t)e->device;
	s->flags = (uint8_t)e->flags;
	s->aux = e->aux;
	if (e->kind == K_POOL_STATE) {
		s->frames[0] = e->threshold;
		s->nframes = 1;
	} else
		s->nframes = e->takes ? 0 : (uint8_t)frames_of(o, from, s->frames);
	sum = at ^ s->time ^ (e->ptr * 3) ^ (e->size * 5) ^ (e->aux * 7) ^ ((u64)e->kind << 48) ^ ((u64)s->nframes << 32) ^ s->tid;
	s->check = (u32)(sum ^ (sum >> 32));
	store(&s->seq, at + 1);
	return time;
}

/* ---- the driver -------------------------------------------------------- */

typedef int CUresult;
typedef CUresult (*fn6)(u64, u64, u64, u64, u64, u64);
#define NO_MEMORY 2 /* CUDA_ERROR_OUT_OF_MEMORY, hipErrorOutOfMemory */
#define STUB 34 /* CUDA_ERROR_STUB_LIBRARY: what a missing driver is */

#include "hip.h"

/* The hooked functions: exported name, the name cuGetProcAddress knows it by,
 * whether it is a per-thread-stream variant, the lowest CUDA version for which
 * that name means this function (0: any). An empty base is found by its address
 * only. */
#define HOOKS(X) \
	X(cuGetProcAddress, "cuGetProcAddress", 0, 0) \
	X(cuGetProcAddress_v2, "cuGetProcAddress", 0, 12000) \
	X(cuInit, "cuInit", 0, 0) \
	X(cuMemAlloc_v2, "cuMemAlloc", 0, 3020) \
	X(cuMemAllocPitch_v2, "cuMemAllocPitch", 0, 3020) \
	X(cuMemAllocManaged, "cuMemAllocManaged", 0, 0) \
	X(cuMemAllocAsync, "cuMemAllocAsync", 0, 0) \
	X(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 1, 0) \
	X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 0, 0) \
	X(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", 1, 0) \
	X(cuMemCreate, "cuMemCreate", 0, 0) \
	X(cuArrayCreate_v2, "cuArrayCreate", 0, 3020) \
	X(cuArray3DCreate_v2, "cuArray3DCreate", 0, 3020) \
	X(cuMipmappedArrayCreate, "cuMipmappedArrayCreate", 0, 0) \
	X(cuMemHostAlloc, "cuMemHostAlloc", 0, 0) \
	X(cuMemAllocHost, "cuMemAllocHost", 0, 2000) \
	X(cuMemAllocHost_v2, "cuMemAllocHost", 0, 3020) \
	X(cuMemHostRegister, "cuMemHostRegister", 0, 4000) \
	X(cuMemHostRegister_v2, "cuMemHostRegister", 0, 6050) \
	X(cuIpcOpenMemHandle, "cuIpcOpenMemHandle", 0, 4010) \
	X(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 0, 11000) \
	X(cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle", 0, 0) \
	X(cuMemFree_v2, "cuMemFree", 0, 3020) \
	X(cuMemFreeAsync, "cuMemFreeAsync", 0, 0) \
	X(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 1, 0) \
	X(cuMemRelease, "cuMemRelease", 0, 0) \
	X(cuArrayDestroy, "cuArrayDestroy", 0, 0) \
	X(cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy", 0, 0) \
	X(cuMemFreeHost, "cuMemFreeHost", 0, 0) \
	X(cuMemHostUnregister, "cuMemHostUnregister", 0, 0) \
	X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 0, 0) \
	X(cuMemMap, "cuMemMap", 0, 0) \
	X(cuMemUnmap, "cuMemUnmap", 0, 0) \
	X(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", 0, 0) \
	X(cuMemPoolCreate, "cuMemPoolCreate", 0, 0) \
	X(cuMemPoolDestroy, "cuMemPoolDestroy", 0, 0) \
	X(cuMemPoolTrimTo, "cuMemPoolTrimTo", 0, 0) \
	X(cuStreamSynchronize, "cuStreamSynchronize", 0, 0) \
	X(cuStreamSynchronize_ptsz, "cuStreamSynchronize", 1, 0) \
	X(cuEventSynchronize, "cuEventSynchronize", 0, 0) \
	X(cuCtxSynchronize, "cuCtxSynchronize", 0, 0) \
	X(cuCtxSynchronize_v2, "cuCtxSynchronize", 0, 13000) \
	X(cuCtxCreate, "", 0, 0) \
	X(cuCtxCreate_v2, "", 0, 0) \
	X(cuCtxCreate_v3, "", 0, 0) \
	X(cuCtxCreate_v4, "", 0, 0) \
	X(cuCtxDestroy, "cuCtxDestroy", 0, 2000) \
	X(cuCtxDestroy_v2, "cuCtxDestroy", 0, 4000) \
	X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 0, 0) \
	X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", 0, 7000) \
	X(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 0, 11000) \
	X(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset", 0, 7000) \
	X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 0, 11000) \
	X(cuEventCreate, "cuEventCreate", 0, 0) \
	X(cuEventDestroy, "cuEventDestroy", 0, 2000) \
	X(cuEventDestroy_v2, "cuEventDestroy", 0, 4000) \
	X(cuStreamCreate, "cuStreamCreate", 0, 0) \
	X(cuStreamCreateWithPriority, "cuStreamCreateWithPriority", 0, 0) \
	X(cuStreamDestroy, "cuStreamDestroy", 0, 2000) \
	X(cuStreamDestroy_v2, "cuStreamDestroy", 0, 4000) \
	X(cuGraphInstantiate, "cuGraphInstantiate", 0, 10000) \
	X(cuGraphInstantiate_v2, "cuGraphInstantiate", 0, 11000) \
	X(cuGraphInstantiateWithFlags, "cuGraphInstantiate", 0, 12000) \
	X(cuGraphInstantiateWithParams, "cuGraphInstantiateWithParams", 0, 0) \
	X(cuGraphInstantiateWithParams_ptsz, "cuGraphInstantiateWithParams", 1, 0) \
	X(cuGraphExecDestroy, "cuGraphExecDestroy", 0, 0) \
	X(cuModuleLoad, "cuModuleLoad", 0, 0) \
	X(cuModuleLoadData, "cuModuleLoadData", 0, 0) \
	X(cuModuleLoadDataEx, "cuModuleLoadDataEx", 0, 0) \
	X(cuModuleLoadFatBinary, "cuModuleLoadFatBinary", 0, 0) \
	X(cuModuleUnload, "cuModuleUnload", 0, 0) \
	X(cuLibraryLoadData, "cuLibraryLoadData", 0, 0) \
	X(cuLibraryLoadFromFile, "cuLibraryLoadFromFile", 0, 0) \
	X(cuLibraryUnload, "cuLibraryUnload", 0, 0) \
	HIP_HOOKS(X)

enum {
#define X(name, base, ptsz, from) S_##name,
	HOOKS(X)
#undef X
	HOOK_COUNT
};

#define X(name, base, ptsz, from) EXPORT CUresult name();
HOOKS(X)
#undef X

static const struct {
	const char *name, *base;
	int ptsz, from;
} hooks[HOOK_COUNT] = {
#define X(name, base, ptsz, from) {#name, base, ptsz, from},
	HOOKS(X)
#undef X
};

static void *const wrappers[HOOK_COUNT] = {
#define X(name, base, ptsz, from) (void *)name,
	HOOKS(X)
#undef X
};

static void *targets[HOOK_COUNT]; /* what a wrapper calls */
static void *exports[HOOK_COUNT]; /* what the driver exports by that name */
static struct link_map *driver_map, *hip_map;
static u32 exports_known, hip_known;
static fn6 ctx_current, ctx_device, ctx_memory, hip_device, hip_choose, hip_memory;

/* What the driver's pools are asked by, of CUDA and of HIP. */
static struct {
	fn6 get, of_device, current, trim, capture_mode;
} pool_calls[2];

typedef void *(*dlsym_fn)(void *, const char *);
static dlsym_fn next_dlsym;

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* hook_named is the exact allow-list. It calls nothing: what it does not find
 * must reach the real dlsym with our caller's return address. */
static inline int hook_named(const char *name)
{
	const char *first = name;
	if (!name || (name[0] != 'c' && name[0] != 'h'))
		return -1;
	if (name[1] != (name[0] == 'c' ? 'u' : 'i'))
		return -1;
	first += name[0] == 'c' ? 2 : name[2] == 'p' ? 3 : 1;
	if (*first < 'A' || *first > 'Z')
		return -1;
	for (int i = 0; i < HOOK_COUNT; i++)
		if (same(hooks[i].name, name))
			return i;
	return -1;
}

static u64 relocated(struct link_map *m, u64 value)
{
	return value < m->l_addr ? value + m->l_addr : value;
}

/* exported looks a function up in one library, as the loader would: dlsym
 * would go through other interposers and change what dlerror says. */
static void *exported(struct link_map *m, const char *name)
{
	const ElfW(Sym) *symbols = 0;
	const char *strings = 0;
	const uint16_t *versions = 0;
	const u32 *gnu = 0, *sysv = 0;
	u32 h = 5381, n, i;
	for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
		u64 at = relocated(m, d->d_un.d_ptr);
		if (d->d_tag == DT_SYMTAB)
			symbols = (const void *)at;
		else if (d->d_tag == DT_STRTAB)
			strings = (const void *)at;
		else if (d->d_tag == DT_GNU_HASH)
			gnu = (const void *)at;
		else if (d->d_tag == DT_HASH)
			sysv = (const void *)at;
		else if (d->d_tag == DT_VERSYM)
			versions = (const void *)at;
	}
	if (!symbols || !strings)
		return 0;
#define OLD 0x8000 /* a version that is kept for programs linked long ago */
#define DEFINED(i) \
	(symbols[i].st_shndx != SHN_UNDEF && !(versions && versions[i] & OLD) && same(strings + symbols[i].st_name, name))
	if (gnu) {
		const u32 *buckets = gnu + 4 + (size_t)gnu[2] * (sizeof(ElfW(Addr)) / 4), *chain = buckets + gnu[0];
		for (const char *c = name; *c; c++)
			h = h * 33 + (unsigned char)*c;
		i = gnu[0] ? buckets[h % gnu[0]] : 0;
		if (i < gnu[1])
			return 0;
		for (;; i++) {
			if (((chain[i - gnu[1]] ^ h) >> 1) == 0 && DEFINED(i))
				return (void *)(m->l_addr + symbols[i].st_value);
			if (chain[i - gnu[1]] & 1)
				return 0;
		}
	}
	for (i = 0, n = sysv ? sysv[1] : 0; i < n; i++)
		if (DEFINED(i))
			return (void *)(m->l_addr + symbols[i].st_value);
	return 0;
}

/* driver is the program's libcuda, or null while it has none. */
static struct link_map *driver(void)
{
	struct link_map *m = load(&driver_map);
	if (m || audit)
		return m;
	m = dlopen ? dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) : 0;
	if (m)
		store(&driver_map, m);
	return m;
}

/* hip_runtime is the program's libamdhip64, or null while it has none. */
static struct link_map *hip_runtime(void)
{
	static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};
	struct link_map *m = load(&hip_map);
	for (u32 i = 0; !m && !audit && dlopen && i < sizeof names / sizeof names[0]; i++)
		m = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
	if (m)
		store(&hip_map, m);
	return m;
}

static int of_hip(int i) { return i >= S_hipMalloc; }

static void learn_hip(void)
{
	struct link_map *m;
	if (load(&hip_known) || !(m = hip_runtime()))
		return;
	for (int i = S_hipMalloc; i < HOOK_COUNT; i++)
		store(&exports[i], exported(m, hooks[i].name));
	pool_calls[1].of_device = (fn6)exported(m, "hipDeviceGetDefaultMemPool");
	pool_calls[1].current = (fn6)exported(m, "hipDeviceGetMemPool");
	pool_calls[1].trim = (fn6)exported(m, "hipMemPoolTrimTo");
	pool_calls[1].capture_mode = (fn6)exported(m, "hipThreadExchangeStreamCaptureMode");
	store(&pool_calls[1].get, (fn6)exported(m, "hipMemPoolGetAttribute"));
	hip_choose = (fn6)exported(m, "hipSetDevice");
	hip_memory = (fn6)exported(m, "hipMemGetInfo");
	store(&hip_device, (fn6)exported(m, "hipGetDevice"));
	store(&hip_known, 1);
	begin();
	mark(F_DRIVER);
}

static void learn_driver(void)
{
	struct link_map *m;
	if (load(&exports_known))
		return;
	m = driver();
	if (!m)
		return;
	for (int i = 0; i < S_hipMalloc; i++)
		store(&exports[i], exported(m, hooks[i].name));
	pool_calls[0].of_device = (fn6)exported(m, "cuDeviceGetDefaultMemPool");
	pool_calls[0].current = (fn6)exported(m, "cuDeviceGetMemPool");
	pool_calls[0].trim = (fn6)exported(m, "cuMemPoolTrimTo");
	pool_calls[0].capture_mode = (fn6)exported(m, "cuThreadExchangeStreamCaptureMode");
	store(&pool_calls[0].get, (fn6)exported(m, "cuMemPoolGetAttribute"));
	ctx_device = (fn6)exported(m, "cuCtxGetDevice");
	ctx_memory = (fn6)exported(m, "cuMemGetInfo_v2");
	store(&ctx_current, (fn6)exported(m, "cuCtxGetCurrent"));
	store(&exports_known, 1);
	begin(); /* before the program changes its root or its user */
	mark(F_DRIVER);
}

static void learn(int i)
{
	if (of_hip(i))
		learn_hip();
	else
		learn_driver();
}

static struct link_map *library_of(int i) { return of_hip(i) ? hip_runtime() : driver(); }

/* aim makes found the wrapper's target, unless another is: then found belongs
 * to someone else, and is to be handed out as it is. */
static int aim(int i, void *found)
{
	void *none = 0;
	if (found == wrappers[i])
		return 1;
	return __atomic_compare_exchange_n(&targets[i], &none, found, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || none == found;
}

/* target is the real function of a hook that was bound without our help. */
static __attribute__((noinline)) fn6 find_target(int i)
{
	void *found = 0;
	int saved = errno;
	learn(i);
	if (!audit && next_dlsym)
		found = next_dlsym(RTLD_NEXT, hooks[i].name); /* interposers behind us come first */
	if ((!found || found == wrappers[i]) && relay && library_of(i))
		found = next_dlsym(library_of(i), hooks[i].name);
	if (!found || found == wrappers[i])
		found = load(&exports[i]);
	if (found)
		aim(i, found);
	errno = saved;
	return (fn6)load(&targets[i]);
}

static inline fn6 target(int i)
{
	fn6 f = (fn6)load(&targets[i]);
	return __builtin_expect(f != 0, 1) ? f : find_target(i);
}

/* ---- dlsym ------------------------------------------------------------- */

/* next_export is RTLD_NEXT without dlsym, which musl has under no version, and
 * which before glibc 2.34 only programs with libdl have. */
struct search {
	const char *name;
	void *found;
	int past_us;
};

static int search_one(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *s = data;
	struct link_map m = {.l_addr = info->dlpi_addr};
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			m.l_ld = (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	if (m.l_ld && s->past_us)
		s->found = exported(&m, s->name);
	s->past_us |= m.l_ld == _DYNAMIC;
	return s->found != 0;
}

static void *next_export(const char *name)
{
	struct search s = {.name = name};
	dl_iterate_phdr(search_one, &s);
	return s.found;
}

/* next_of_loader is one of the loader's own functions. */
static void *next_of_loader(const char *name)
{
	void *f = dlvsym ? dlvsym(RTLD_NEXT, name, "GLIBC_2.34") : 0;
	if (!f)
		f = dlvsym ? dlvsym(RTLD_NEXT, name, GLIBC_BASE) : 0;
	return f ? f : next_export(name);
}

static __attribute__((noinline)) void find_next_dlsym(void)
{
	store(&next_dlsym, (dlsym_fn)next_of_loader("dlsym"));
}

static __attribute__((noinline)) void *substitute(void *handle, const char *name, int i)
{
	void *found = next_dlsym(handle, name);
	if (found == wrappers[i]) /* we stand before the driver in this scope */
		found = next_dlsym(RTLD_NEXT, name);
	if (!found || relay)
		return found;
	learn(i);
	return aim(i, found) ? wrappers[i] : found;
}

/* Our dlsym must leave the stack as it found it when it passes a lookup on:
 * RTLD_NEXT means "after the caller", so the last call is a jump. */
EXPORT void *gpumem_dlsym(void *handle, const char *name)
{
	if (__builtin_expect(!next_dlsym, 0))
		find_next_dlsym();
	if (!relay)
		deep_rebind();
	if (handle != RTLD_NEXT) {
		int i = hook_named(name);
		if (i >= 0)
			return substitute(handle, name, i);
	}
	return next_dlsym(handle, name);
}
EXPORT __typeof__(gpumem_dlsym) gpumem_dlsym_base __attribute__((alias("gpumem_dlsym")));
__asm__(".symver gpumem_dlsym,dlsym@@GLIBC_2.34");
__asm__(".symver gpumem_dlsym_base,dlsym@" GLIBC_BASE);

/* ---- cuGetProcAddress -------------------------------------------------- */

static int hook_of(const char *name, void *found, int version, u64 flags)
{
	int best = -1, ptsz = (flags & 2) != 0;
	for (int i = 0; i < HOOK_COUNT; i++)
		if (found == load(&exports[i]) || found == load(&targets[i]))
			return i;
	for (int i = 0; i < HOOK_COUNT; i++)
		if (hooks[i].ptsz == ptsz && hooks[i].from <= version && (same(hooks[i].base, name) || same(hooks[i].name, name)) &&
		    (best < 0 || hooks[i].from >= hooks[best].from))
			best = i;
	if (best < 0 && ptsz) /* most functions have no such variant */
		return hook_of(name, found, version, flags & ~2u);
	return best;
}

/* hand_out replaces what the driver returned by our wrapper for it. */
static void hand_out(const char *name, void **found, int version, u64 flags)
{
	int listed = 0, i;
	if (!name || !found || !*found || relay)
		return;
	for (i = 0; i < HOOK_COUNT && !listed; i++)
		listed = same(hooks[i].base, name) || same(hooks[i].name, name);
	if (!listed && !same(name, "cuCtxCreate"))
		return;
	learn_driver();
	i = hook_of(name, *found, version, flags);
	if (i >= 0 && aim(i, *found))
		*found = wrappers[i];
	else
		mark(F_MISSED);
}

CUresult cuGetProcAddress(const char *name, void **found, int version, u64 flags)
{
	CUresult (*real)(const char *, void **, int, u64) = (void *)target(S_cuGetProcAddress);
	CUresult rc = real ? real(name, found, version, flags) : STUB;
	if (rc == 0)
		hand_out(name, found, version, flags);
	return rc;
}

CUresult cuGetProcAddress_v2(const char *name, void **found, int version, u64 flags, int *status)
{
	CUresult (*real)(const char *, void **, int, u64, int *) = (void *)target(S_cuGetProcAddress_v2);
	CUresult rc = real ? real(name, found, version, flags, status) : STUB;
	if (rc == 0)
		hand_out(name, found, version, flags);
	return rc;
}

/* ---- hooks ------------------------------------------------------------- */

/* place fills in context and device of the calling thread. */
static inline void place(struct event *e, int hip)
{
	u64 ctx = 0, device = 0;
	fn6 current = load(&ctx_current);
	e->device = -1;
	if (hip) { /* has no contexts */
		fn6 which = load(&hip_device);
		e->device = which && which((u64)&device, 0, 0, 0, 0, 0) == 0 ? (int32_t)device : -1;
		return;
	}
	if (!current || current((u64)&ctx, 0, 0, 0, 0, 0) != 0 || !ctx)
		return;
	if (ctx != thread.ctx) {
		thread.device = ctx_device && ctx_device((u64)&device, 0, 0, 0, 0, 0) == 0 ? (int32_t)device : -1;
		thread.ctx = ctx;
	}
	e->aux = ctx;
	e->device = thread.device;
}

#define BETWEEN_REFUSALS 10000000u /* ns */

/* before is what a call of HIP's is told by that is asked before it: what is asked of HIP
 * after a call that failed takes the error away that the program may ask for (hipleft.c). */
static inline struct event before(int hip)
{
	struct event at = {.device = -1};
	if (hip && thread.depth == 0)
		place(&at, 1);
	return at;
}

/* ask_free notes what the device has left when it refuses memory, plus 1, in the place
 * of an address, of which there is none. Of HIP a thread asks, now and then: a program
 * may try without end. */
static __attribute__((noinline, cold)) void ask_free(struct event *v, int hip)
{
	static u64 asked;
	u64 left = 0, total = 0, time;
	int saved = errno;
	if (v->kind > K_MIPMAP)
		return;
	if (!hip) {
		if (load(&ctx_current) && ctx_memory && ctx_memory((u64)&left, (u64)&total, 0, 0, 0, 0) == 0)
			v->ptr = left + 1;
		return;
	}
	time = now(CLOCK_MONOTONIC);
	left = load(&asked);
	if ((left && time - left < BETWEEN_REFUSALS) ||
	    !__atomic_compare_exchange_n(&asked, &left, time, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return;
	v->ptr = hip_left(hip_choose, hip_memory, v->device);
	errno = saved;
}

/* ---- the driver's pools -------------------------------------------------- */

/* The driver's stream-ordered pools tell how much of their memory is used. They are
 * asked by a thread of the program that has just called the driver with success, so
 * the driver lives and is not held by us; never more often than below. A pool gives
 * memory back to the device at a synchronisation only: hence the second number. */
#define BETWEEN_CALLS 10000000u /* ns */
#define BETWEEN_SYNCS 100000u
enum { POOL_THRESHOLD = 4, POOL_RESERVED = 5, POOL_USED = 7 }; /* CUmemPool_attribute, and HIP's */

static int asks_purge; /* trim the pools when the program exits */
static void register_purge(void);

static void learn_pool(struct owner *o, u64 handle, int device, u32 hip)
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
static void learn_default(struct owner *o, int device, u32 hip)
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
static void forget_pools(u64 handle)
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
static __attribute__((noinline)) void look_at_pools(u64 time, u64 between, struct place from)
{
	struct owner *o = load(&owner);
	int saved = errno;
	u64 last;
	if (!o || !load(&o->pooled) || load(&o->state) != F_SLOTS || thread.depth)
		return;
	last = load(&o->asked);
	if (!time)
		time = now(CLOCK_MONOTONIC);
	if ((int64_t)(time - last) >= (int64_t)between && __atomic_compare_exchange_n(&o->asked, &last, time, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		ask_pools(o, 0, from);
	errno = saved;
}

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

/* Pools are asked after these kinds. */
#define OF_POOLS(kind) ((kind) == K_ASYNC || (kind) == K_FREE_ASYNC || (kind) == K_POOL || (kind) == K_FREE || (kind) == K_POOL_TRIM)
#define ENDS_POOLS(kind) ((kind) == K_POOL_DESTROY || (kind) == K_CTX_DESTROY || (kind) == K_PRIMARY_RESET || (kind) == K_PRIMARY_RELEASE)

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

/* ---- what each hooked function does ---------------------------------------- */

#define FROM ((struct place){__builtin_frame_address(0), (uintptr_t)__builtin_dwarf_cfa()})
#define ARGS u64 a, u64 b, u64 c, u64 d, u64 e, u64 f
#define PASS a, b, c, d, e, f

/* Where most functions put what they made. */
#define OUT (rc == 0 && a ? *(u64 *)a : 0)

/* Every hooked function with up to six integer arguments is called with six:
 * the callee ignores the registers it has no parameter for. always_: failures
 * are recorded, too. */
#define CREATES(name, kind_, ptr_, size_, always_, adjust_) \
	CUresult name(ARGS) \
	{ \
		fn6 real = target(S_##name); \
		CUresult rc; \
		if (!real) \
			return STUB; \
		struct event at = before(of_hip(S_##name)); \
		thread.depth++; \
		rc = real(PASS); \
		thread.depth--; \
		if (thread.depth == 0 && (rc == 0 || always_)) { \
			struct event v = {.kind = kind_, .rc = rc, .ptr = ptr_, .size = size_, .device = at.device}; \
			u64 time; \
			if (!of_hip(S_##name)) \
				place(&v, 0); \
			adjust_; \
			if (__builtin_expect(rc == NO_MEMORY, 0)) \
				ask_free(&v, of_hip(S_##name)); \
			time = note(&v, FROM); \
			if (OF_POOLS(kind_) && rc == 0) \
				after(&v, time, of_hip(S_##name), FROM); \
		} \
		return rc; \
	}

#define DESTROYS(name, kind_, size_) \
	CUresult name(ARGS) \
	{ \
		fn6 real = target(S_##name); \
		CUresult rc; \
		struct event v = {.kind = kind_, .ptr = a, .size = size_, .device = -1, .takes = 1}; \
		if (!real) \
			return STUB; \
		u64 time = thread.depth == 0 ? note(&v, FROM) : 0; \
		if (ENDS_POOLS(kind_)) \
			forget_pools(kind_ == K_POOL_DESTROY ? a : 0); \
		thread.depth++; \
		rc = real(PASS); \
		thread.depth--; \
		if (rc && thread.depth == 0) { \
			v.flags = SLOT_UNDO; \
			note(&v, FROM); \
		} \
		if (OF_POOLS(kind_) && rc == 0 && thread.depth == 0) \
			after(&v, time, of_hip(S_##name), FROM); \
		return rc; \
	}

/* A pool may give memory back when the program waits for the device. */
#define WAITS(name) \
	CUresult name(ARGS) \
	{ \
		fn6 real = target(S_##name); \
		CUresult rc; \
		if (!real) \
			return STUB; \
		thread.depth++; \
		rc = real(PASS); \
		thread.depth--; \
		if (rc == 0) \
			look_at_pools(0, BETWEEN_SYNCS, FROM); \
		return rc; \
	}

#define NOTHING ((void)0)

/* CUDA_ARRAY_DESCRIPTOR: width, height (size_t), format, channels (int);
 * CUDA_ARRAY3D_DESCRIPTOR: width, height, depth, format, channels, flags. */
static u64 format_size(u32 format)
{
	switch (format) {
	case 0x01: case 0x08: return 1;
	case 0x02: case 0x09: case 0x10: return 2;
	case 0x03: case 0x0a: case 0x20: return 4;
	}
	return 0; /* a compressed or planar format: not known here */
}

/* levels_size is how many elements an array has, and its smaller levels with it. */
static u64 levels_size(struct hip_extent n, u64 levels)
{
	u64 w = n.width, h = n.height, d = n.depth, total = 0;
	for (u64 level = 0; level < levels && level < 64; level++) {
		total += w * (h ? h : 1) * (d ? d : 1);
		w = w > 1 ? w / 2 : w;
		h = h > 1 ? h / 2 : h;
		d = d > 1 ? d / 2 : d;
	}
	return total;
}

static u64 array_size(u64 desc, int dims, u64 levels)
{
	const u64 *extent = (const u64 *)desc;
	const u32 *format;
	if (!desc)
		return 0;
	format = (const u32 *)(extent + dims);
	return levels_size((struct hip_extent){extent[0], extent[1], dims == 3 ? extent[2] : 0}, levels) *
	       format_size(format[0]) * format[1];
}

/* CUmemAllocationProp: type, requestedHandleTypes, location {type, id}. An id
 * is a device's only when the location is one (type 1). */
static void place_created(struct event *v, u64 prop)
{
	const u32 *p = (const u32 *)prop;
	if (!p)
		return;
	v->device = p[2] == 1 ? (int)p[3] : -1;
	if (p[2] != 1)
		v->flags |= SLOT_HOSTMEM;
}

CREATES(cuInit, K_INIT, 0, a, 0, NOTHING)
CREATES(cuMemAlloc_v2, K_ALLOC, OUT, b, 1, NOTHING)
CREATES(cuMemAllocPitch_v2, K_ALLOC, OUT, (rc == 0 && b ? *(u64 *)b : c) * d, 1, NOTHING)
CREATES(cuMemAllocManaged, K_MANAGED, OUT, b, 1, NOTHING)
CREATES(cuMemAllocAsync, K_ASYNC, OUT, b, 1, NOTHING)
CREATES(cuMemAllocAsync_ptsz, K_ASYNC, OUT, b, 1, NOTHING)
CREATES(cuMemAllocFromPoolAsync, K_ASYNC, OUT, b, 1, v.pool = c)
CREATES(cuMemAllocFromPoolAsync_ptsz, K_ASYNC, OUT, b, 1, v.pool = c)
CREATES(cuMemCreate, K_CREATE, OUT, b, 1, place_created(&v, c))
CREATES(cuArrayCreate_v2, K_ARRAY, OUT, array_size(b, 2, 1), 1, v.flags = v.size ? 0 : SLOT_UNSIZED)
CREATES(cuArray3DCreate_v2, K_ARRAY, OUT, array_size(b, 3, 1), 1, v.flags = v.size ? 0 : SLOT_UNSIZED)
CREATES(cuMipmappedArrayCreate, K_MIPMAP, OUT, array_size(b, 3, (u32)c), 1, v.flags = v.size ? 0 : SLOT_UNSIZED)
CREATES(cuMemHostAlloc, K_HOST, OUT, b, 1, NOTHING)
CREATES(cuMemAllocHost, K_HOST, OUT, b, 1, NOTHING)
CREATES(cuMemAllocHost_v2, K_HOST, OUT, b, 1, NOTHING)
CREATES(cuMemHostRegister, K_REGISTER, a, b, 1, NOTHING)
CREATES(cuMemHostRegister_v2, K_REGISTER, a, b, 1, NOTHING)
CREATES(cuMemImportFromShareableHandle, K_IMPORT, OUT, 0, 0, v.flags = SLOT_UNSIZED)
CREATES(cuMemRetainAllocationHandle, K_RETAIN_HANDLE, OUT, 0, 0, NOTHING)
CREATES(cuMemMap, K_MAP, a, b, 0, v.aux = d)
CREATES(cuMemPoolCreate, K_POOL, OUT, 0, 0, place_created(&v, b); v.flags = 0)
CREATES(cuMemPoolTrimTo, K_POOL_TRIM, a, b, 0, NOTHING)
CREATES(cuCtxCreate, K_CTX, OUT, 0, 0, NOTHING)
CREATES(cuCtxCreate_v2, K_CTX, OUT, 0, 0, NOTHING)
CREATES(cuCtxCreate_v3, K_CTX, OUT, 0, 0, NOTHING)
CREATES(cuCtxCreate_v4, K_CTX, OUT, 0, 0, NOTHING)
CREATES(cuDevicePrimaryCtxRetain, K_PRIMARY, OUT, 0, 0, v.device = (int)b)
CREATES(cuEventCreate, K_EVENT, OUT, 0, 0, NOTHING)
CREATES(cuStreamCreate, K_STREAM, OUT, 0, 0, NOTHING)
CREATES(cuStreamCreateWithPriority, K_STREAM, OUT, 0, 0, NOTHING)
CREATES(cuGraphInstantiate, K_GRAPH, OUT, 0, 0, NOTHING)
CREATES(cuGraphInstantiate_v2, K_GRAPH, OUT, 0, 0, NOTHING)
CREATES(cuGraphInstantiateWithFlags, K_GRAPH, OUT, 0, 0, NOTHING)
CREATES(cuGraphInstantiateWithParams, K_GRAPH, OUT, 0, 0, NOTHING)
CREATES(cuGraphInstantiateWithParams_ptsz, K_GRAPH, OUT, 0, 0, NOTHING)
CREATES(cuModuleLoad, K_MODULE, OUT, 0, 0, NOTHING)
CREATES(cuModuleLoadData, K_MODULE, OUT, 0, 0, NOTHING)
CREATES(cuModuleLoadDataEx, K_MODULE, OUT, 0, 0, NOTHING)
CREATES(cuModuleLoadFatBinary, K_MODULE, OUT, 0, 0, NOTHING)

DESTROYS(cuMemFree_v2, K_FREE, 0)
DESTROYS(cuMemFreeAsync, K_FREE_ASYNC, 0)
DESTROYS(cuMemFreeAsync_ptsz, K_FREE_ASYNC, 0)
DESTROYS(cuMemRelease, K_RELEASE, 0)
DESTROYS(cuArrayDestroy, K_ARRAY_DESTROY, 0)
DESTROYS(cuMipmappedArrayDestroy, K_MIPMAP_DESTROY, 0)
DESTROYS(cuMemFreeHost, K_FREE_HOST, 0)
DESTROYS(cuMemHostUnregister, K_UNREGISTER, 0)
DESTROYS(cuIpcCloseMemHandle, K_IPC_CLOSE, 0)
DESTROYS(cuMemUnmap, K_UNMAP, b)
DESTROYS(cuMemPoolDestroy, K_POOL_DESTROY, 0)
DESTROYS(cuCtxDestroy, K_CTX_DESTROY, 0)
DESTROYS(cuCtxDestroy_v2, K_CTX_DESTROY, 0)
DESTROYS(cuDevicePrimaryCtxRelease, K_PRIMARY_RELEASE, 0)
DESTROYS(cuDevicePrimaryCtxRelease_v2, K_PRIMARY_RELEASE, 0)
DESTROYS(cuDevicePrimaryCtxReset, K_PRIMARY_RESET, 0)
DESTROYS(cuDevicePrimaryCtxReset_v2, K_PRIMARY_RESET, 0)
DESTROYS(cuEventDestroy, K_EVENT_DESTROY, 0)
DESTROYS(cuEventDestroy_v2, K_EVENT_DESTROY, 0)
DESTROYS(cuStreamDestroy, K_STREAM_DESTROY, 0)
DESTROYS(cuStreamDestroy_v2, K_STREAM_DESTROY, 0)
DESTROYS(cuGraphExecDestroy, K_GRAPH_DESTROY, 0)
DESTROYS(cuModuleUnload, K_MODULE_UNLOAD, 0)
DESTROYS(cuLibraryUnload, K_LIBRARY_UNLOAD, 0)

WAITS(cuStreamSynchronize)
WAITS(cuStreamSynchronize_ptsz)
WAITS(cuEventSynchronize)
WAITS(cuCtxSynchronize)
WAITS(cuCtxSynchronize_v2)

HIP_WRAPPERS
HIP_SPECIAL

/* Those that six integers do not cover. */

typedef CUresult (*fn8)(u64 *, u64, u64, u64, u64, u64, u64, u64);
#define LOADS(name, hip) \
	CUresult name(u64 *out, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h) \
	{ \
		fn8 real = (fn8)(void *)target(S_##name); \
		CUresult rc; \
		if (!real) \
			return STUB; \
		thread.depth++; \
		rc = real(out, b, c, d, e, f, g, h); \
		thread.depth--; \
		if (rc == 0 && thread.depth == 0) { \
			struct event v = {.kind = K_LIBRARY, .ptr = out ? *out : 0}; \
			place(&v, hip); \
			note(&v, FROM); \
		} \
		return rc; \
	}
LOADS(cuLibraryLoadData, 0)
LOADS(cuLibraryLoadFromFile, 0)
LOADS(hipLibraryLoadData, 1)
LOADS(hipLibraryLoadFromFile, 1)

struct ipc_handle {
	char reserved[64];
};

static CUresult open_memory(int i, u64 *out, struct ipc_handle handle, u32 flags, struct place from)
{
	CUresult (*real)(u64 *, struct ipc_handle, u32) = (void *)target(i);
	CUresult rc;
	if (!real)
		return STUB;
	thread.depth++;
	rc = real(out, handle, flags);
	thread.depth--;
	if (rc == 0 && thread.depth == 0) {
		struct event v = {.kind = K_IPC, .ptr = out ? *out : 0, .flags = SLOT_UNSIZED};
		place(&v, of_hip(i));
		note(&v, from);
	}
	return rc;
}

CUresult cuIpcOpenMemHandle(u64 *out, struct ipc_handle handle, u32 flags)
{
	return open_memory(S_cuIpcOpenMemHandle, out, handle, flags, FROM);
}

CUresult cuIpcOpenMemHandle_v2(u64 *out, struct ipc_handle handle, u32 flags)
{
	return open_memory(S_cuIpcOpenMemHandle_v2, out, handle, flags, FROM);
}

CUresult hipIpcOpenMemHandle(u64 *out, struct ipc_handle handle, u32 flags)
{
	return open_memory(S_hipIpcOpenMemHandle, out, handle, flags, FROM);
}

/* It frees what there is on the thread's device. */
CUresult hipDeviceReset(void)
{
	CUresult (*real)(void) = (void *)target(S_hipDeviceReset);
	struct event v = {.kind = K_PRIMARY_RESET};
	CUresult rc;
	if (!real)
		return STUB;
	place(&v, 1);
	v.ptr = (u64)v.device;
	if (thread.depth == 0)
		note(&v, FROM);
	forget_pools(0);
	thread.depth++;
	rc = real();
	thread.depth--;
	if (rc && thread.depth == 0) {
		v.flags = SLOT_UNDO;
		note(&v, FROM);
	}
	return rc;
}

CUresult hipGetProcAddress(const char *name, void **found, int version, u64 flags, int *status)
{
	CUresult (*real)(const char *, void **, int, u64, int *) = (void *)target(S_hipGetProcAddress);
	CUresult rc = real ? real(name, found, version, flags, status) : STUB;
	int i = rc == 0 && found && *found && !relay ? hook_named(name) : -1;
	if (i < 0 || !of_hip(i))
		return rc;
	learn_hip();
	if (aim(i, *found))
		*found = wrappers[i];
	else
		mark(F_MISSED);
	return rc;
}

/* ---- loading ----------------------------------------------------------- */

EXPORT const char gpumem_capture[] = "gpumem capture 1";

/* first is what the program itself finds by a name. (RTLD_DEFAULT would begin
 * with ourselves: we are linked -Bsymbolic.) */
static void *first(const char *name)
{
	void *program = dlopen ? dlopen(0, RTLD_LAZY) : 0;
	return program && next_dlsym ? next_dlsym(program, name) : 0;
}

/* Whether a function that is bound at its first call is bound to us then. */
static int stands_first;

static void *real_dlopen(void) { return next_of_loader("dlopen"); }

static void find_all(void)
{
	learn_driver();
	learn_hip();
	stands_first = first("dlsym") == (void *)gpumem_dlsym && first("cuInit") == wrappers[S_cuInit];
	for (int i = 0; i < HOOK_COUNT; i++)
		if (load(&exports[i]))
			target(i);
}

/* wrapper_of leaves what another interposer is to see. */
static void *wrapper_of(const char *name, void *bound)
{
	int i = hook_named(name);
	if (same(name, "dlsym"))
		return (bound ? bound == (void *)next_dlsym : stands_first) ? (void *)gpumem_dlsym : 0;
	if (i < 0 || bound == wrappers[i])
		return 0;
	if (!bound)
		return stands_first ? wrappers[i] : 0;
	return bound == load(&exports[i]) && bound == load(&targets[i]) ? wrappers[i] : 0;
}

const struct deep_ours deep_ours = {real_dlopen, find_all, wrapper_of};

static int foreign_dlsym(void)
{
	Dl_info info;
	const char *base;
	if (!next_dlsym)
		return 0;
	if (first("dlsym") != (void *)gpumem_dlsym)
		return 1;
	if (!dladdr || !dladdr((void *)next_dlsym, &info) || !info.dli_fname)
		return 0;
	for (const char *c = base = info.dli_fname; *c; c++)
		if (*c == '/')
			base = c + 1;
	return !(base[0] == 'l' && base[1] == 'i' && base[2] == 'b' &&
		 ((base[3] == 'c' && (base[4] == '.' || base[4] == '-')) || (base[3] == 'd' && base[4] == 'l')));
}

extern const char __ehdr_start[] __attribute__((visibility("hidden"))); /* by the linker */

/* exec.c: keeps the next program from asking for us where it cannot have us. */
extern __attribute__((visibility("hidden"))) void prepare_exec(const char *us, void *(*next)(const char *));

static void *next_function(const char *name)
{
	return next_dlsym ? next_dlsym(RTLD_NEXT, name) : next_export(name);
}

static int read_environment(void)
{
	const char *dir = getenv("GPUMEM_CAPTURE_DIR"), *stack = getenv("GPUMEM_STACK"), *slots = getenv("GPUMEM_CAPTURE_SLOTS");
	u64 n = 0;
	if (!dir || dir[0] != '/' || __builtin_strlen(dir) >= sizeof directory)
		return 0;
	put(directory, dir);
	asks_purge = getenv("GPUMEM_CAPTURE_PURGE") != 0;
	if (stack && same(stack, "none"))
		want_frames = 0;
	for (; slots && *slots >= '0' && *slots <= '9' && n < (1u << 24); slots++)
		n = n * 10 + (u64)(*slots - '0');
	if (n >= 64 && n <= (1u << 20))
		for (capacity = 64; capacity < n;)
			capacity *= 2;
	return 1;
}

static int audited(void)
{
	const char *list = getenv("LD_AUDIT"), *want = "libgpumem_";
	for (; list && *list; list++) {
		int n = 0;
		while (want[n] && list[n] == want[n])
			n++;
		if (!want[n])
			return 1;
	}
	return 0;
}

static int is_library(const char *name, const char *want)
{
	const char *base = name;
	for (const char *c = name; *c; c++)
		if (*c == '/')
			base = c + 1;
	for (; *want; want++)
		if (*base++ != *want)
			return 0;
	return *base == 0 || *base == '.';
}

static int is_hip(const char *name) { return is_library(name, "libamdhip64.so"); }

static int is_driver(const char *name) { return is_library(name, "libcuda.so") || is_hip(name); }

/* What is loaded when we are. */
struct company {
	const char *us; /* our file's name; the loader keeps it as long as us */
	int driver;
};

/* is_go looks for the note that Go's linker leaves. */
static int is_go(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;
		while (p->p_type == PT_NOTE && end - at >= (long)sizeof(ElfW(Nhdr)) + 4) {
			const ElfW(Nhdr) *note = (const void *)at;
			if (note->n_namesz == 4 && same((const char *)(note + 1), "Go"))
				return 1;
			at += sizeof *note + ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u);
		}
	}
	return 0;
}

static int meet(struct dl_phdr_info *info, size_t size, void *data)
{
	struct company *c = data;
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	(void)size;
	if (info->dlpi_addr == (ElfW(Addr))&__ehdr_start)
		c->us = name;
	if (!*name && is_go(info)) /* the program itself */
		program_in_go = 1;
	c->driver |= is_driver(name);
	return 0;
}

static struct company company(void)
{
	struct company c = {0};
	dl_iterate_phdr(meet, &c);
	return c;
}

/* first_of_all reports whether this is the first program of the run. It gets a
 * ring in any case, which then says whether it ever loaded the driver. */
static int first_of_all(void)
{
	char name[sizeof directory + 16];
	put(put(name, directory), "/first");
	return unlink(name) == 0;
}

static void record(int driver_linked)
{
	first_pid = (u32)getpid();
	if (first_of_all() || driver_linked)
		begin();
}

static __attribute__((constructor(101))) void start(void)
{
	int saved = errno;
	struct company c = company();
	find_next_dlsym();
	prepare_exec(c.us, next_function);
	relay = (u32)audited(); /* la_version, called after this, knows better */
	if (!relay && read_environment()) {
		unwind_by(next_export("_dl_find_object"));
		/* Of two copies of us the first in the search order records. */
		if (first("gpumem_capture") == (void *)gpumem_capture)
			record(c.driver);
		else
			directory[0] = 0;
	}
	errno = saved;
}

static __attribute__((destructor(101))) void finish(void)
{
	int saved = errno, near = load(&driver_map) || load(&hip_map) || company().driver;
	struct owner *o = load(&owner);
	/* A program whose calls passed us by is worth a word, its children are not. */
	if (!o && near && first_pid == (u32)getpid())
		o = begin();
	if (o && load(&o->state) == F_SLOTS)
		copy_maps(o);
	if (o && near && !relay && !audit && deep_passes())
		mark(F_PASSED);
	mark(F_EXITED | (near ? F_DRIVER : 0));
	errno = saved;
}

/* LD_AUDIT: the loader asks at every binding, also of dlsym. */

EXPORT unsigned la_version(unsigned version)
{
	audit = 1;
	relay = 0;
	if (!directory[0] && read_environment())
		record(0);
	return version;
}

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
	*cookie = map->l_name && is_driver(map->l_name);
	if (!*cookie)
		return 2; /* LA_FLG_BINDFROM */
	if (namespace == LM_ID_BASE) {
		store(is_hip(map->l_name) ? &hip_map : &driver_map, map);
		begin();
	}
	return 3; /* LA_FLG_BINDTO as well */
}

EXPORT uintptr_t la_symbind64(ElfW(Sym) *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags, const char *name)
{
	int i = *to == 1 ? hook_named(name) : -1; /* the loader asks about more than we wanted */
	(void)index, (void)from, (void)flags;
	if (i < 0 || !aim(i, (void *)symbol->st_value))
		return symbol->st_value;
	learn(i);
	return (uintptr_t)wrappers[i];
}
