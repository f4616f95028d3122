/* The ring file of a process, and whose it is after a fork. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring.h"

struct owner *owner;
struct header *ancestor;
char directory[DIRECTORY];
u32 capacity = DEFAULT_SLOTS, audit;
__thread struct thread thread;
char *put(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	*at = 0;
	return at;
}

char *put_number(char *at, u64 n)
{
	char digits[24], *d = digits + sizeof digits - 1;
	*d = 0;
	do
		*--d = (char)('0' + n % 10);
	while (n /= 10);
	return put(at, d);
}

void name_ring(char *at, const struct owner *o, const char *suffix)
{
	at = put_number(put(put(at, directory), "/"), o->pid);
	put(put_number(put(at, "."), o->number), suffix);
}

/* file_limit is how long a file of this process may become. Beyond that the
 * kernel sends SIGXFSZ, which ends a program that does not expect it. */
u64 file_limit(void)
{
	struct rlimit r;
	return getrlimit(RLIMIT_FSIZE, &r) == 0 ? (u64)r.rlim_cur : 0;
}

void copy_maps(const struct owner *o)
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
	h->flags = audit ? F_AUDIT : another_interposes() ? F_FOREIGN : 0;
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
__attribute__((noinline)) struct owner *begin(void)
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
void mark(u64 flags)
{
	struct owner *o = load(&owner);
	if (o && o->ring)
		__atomic_fetch_or(&o->ring->flags, flags, __ATOMIC_RELEASE);
}

/* wake makes the slots ready. Several threads may be in here at once; they do
 * the same. */
__attribute__((noinline)) u32 wake(struct owner *o)
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
