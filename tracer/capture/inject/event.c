/* Writes events into the ring, with who called: native frames, and a line of Python. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event.h"
#include "python.h"
#include "stack.h"

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

/* frames_of writes who called: native frames, and behind them the line of Python, with the one
 * that called the line's function. */
static u32 frames_of(const struct owner *o, struct place from, u64 *out)
{
	u32 called = 0, n = walk(from, out), line = want_frames ? python_place(o->pid, say_place, &called) : 0;
	if (line)
		out[n < FRAMES ? n++ : FRAMES - 1] = PYTHON_MARK | (u64)called << 32 | line;
	return n;
}

/* Of so many calls that take something away it is noted where they come from: what gives memory
 * back by the same call that asks for it is a way to the driver, and no place in the program. */
#define TAKERS 16

u32 note(const struct event *e, struct place from)
{
	static u32 takers; /* threads may count one twice */
	struct owner *o = load(&owner);
	struct header *h;
	struct slot *s;
	u32 state;
	u64 at, sum;
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
	/* The order of events is that of their numbers; only refusals are shown with a time. */
	s->time = e->rc ? now(CLOCK_MONOTONIC) : 0;
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
	} else if (!e->takes)
		s->nframes = (uint8_t)frames_of(o, from, s->frames);
	else if (__builtin_expect(takers < TAKERS, 0))
		takers++, s->nframes = (uint8_t)walk(from, s->frames);
	else
		s->nframes = 0;
	sum = at ^ s->time ^ (e->ptr * 3) ^ (e->size * 5) ^ (e->aux * 7) ^ ((u64)e->kind << 48) ^ ((u64)s->nframes << 32) ^ s->tid;
	s->check = (u32)(sum ^ (sum >> 32));
	store(&s->seq, at + 1);
	return 1;
}
