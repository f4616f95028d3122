/* Finds the line of Python from which a driver's call comes. The thread that calls
 * reads its own frames, which nobody else changes, so that it needs no lock of the
 * interpreter's: one could hold it and wait for the lock under which an allocator
 * calls the driver. The agent tells the layout (python.h). It has it adopted only after
 * this code named lines that the agent knows, asking the kernel before each read
 * whether there is memory. */
#include "python.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define load(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#define DEPTH 64      /* frames that are looked at */
#define MOST_FRAMES 256 /* of which some are tried */
#define PLACES PYTHON_PLACES
#define LONGEST 1024  /* bytes of a place's text */
#define UNITS 16      /* where code of 3.11 and later has the number of its units of two bytes */

/* Whose code a line is in, the best first. */
enum rank { PROGRAM = 1, PACKAGE, FRAMEWORK };

/* A line that was met. One thread fills it: it takes it by code, and what is
 * complete has a rank. */
struct entry {
	uint64_t code, instruction, names;
	uint32_t rank, said;
};

struct python {
	struct python_layout at;
	uint32_t pid;
	uint32_t trusted; /* what is read is memory */
	struct entry entries[PLACES];
};

static struct python *adopted; /* null before the agent told, and at the end */
static uint32_t walking;       /* threads that read frames */

/* readable asks the kernel about the eight bytes at an address: see gpumem.c. */
static int readable(uint64_t at)
{
	return syscall(SYS_rt_sigprocmask, ~0L, (void *)(uintptr_t)at, (void *)0, 8L) == 0 || errno != EFAULT;
}

static int copy(const struct python *p, uint64_t from, void *to, size_t n)
{
	if (!p->trusted) {
		if (from < 4096 || from + n < from || !readable(from) || (n > 8 && !readable(from + n - 8)))
			return 0;
		for (uint64_t page = (from | 4095) + 1; n > 8 && page < from + n - 8; page += 4096)
			if (!readable(page))
				return 0;
	}
	__builtin_memcpy(to, (void *)(uintptr_t)from, n);
	return 1;
}

static uint64_t word(const struct python *p, uint64_t at)
{
	uint64_t v = 0;
	return copy(p, at, &v, sizeof v) ? v : 0;
}

/* From 3.14 on the low bits of a reference say what it is. */
static uint64_t object(const struct python *p, uint64_t at) { return word(p, at) & ~7ull; }

/* text copies a string of printable ASCII, or says no. */
static size_t text(const struct python *p, uint64_t string, char *out, size_t room)
{
	uint64_t n = string ? word(p, string + p->at.length) : 0;
	if (!n || n >= room || !copy(p, string + p->at.text, out, n + 1) || out[n])
		return 0;
	for (uint64_t i = 0; i < n; i++)
		if (out[i] < ' ' || out[i] == 127)
			return 0;
	return n;
}

static int has(const char *text, const char *part)
{
	for (; *text; text++) {
		size_t i = 0;
		while (part[i] && text[i] == part[i])
			i++;
		if (!part[i])
			return 1;
	}
	return 0;
}

static enum rank rank_of(const char *file)
{
	static const char *const frameworks[] = {"/torch/", "/jax/", "/jaxlib/", "/cupy/", "/numpy/", "/triton/", "/mlx/", "/numba/",
						 "/torchinductor_" /* code that PyTorch's compiler writes */};
	if (*file == '<' || has(file, "/gpumem_agent/"))
		return FRAMEWORK;
	if (!has(file, "/site-packages/") && !has(file, "/dist-packages/"))
		return has(file, "/lib/python3") ? FRAMEWORK : PROGRAM;
	for (size_t i = 0; i < sizeof frameworks / sizeof frameworks[0]; i++)
		if (has(file, frameworks[i]))
			return FRAMEWORK;
	return PACKAGE;
}

/* describe writes "FILE:LINE NAME" and returns its length. */
static size_t describe(const struct python *p, uint64_t code, uint64_t instruction, char *out)
{
	char digits[12], *d = digits + sizeof digits;
	uint64_t i = p->at.unit ? instruction * p->at.unit : instruction - code - p->at.first;
	uint64_t end = p->at.unit ? 1u << 24 : 2 * word(p, code + UNITS);
	int line = i < end ? p->at.line((void *)(uintptr_t)code, (int)i) : -1;
	size_t n = text(p, word(p, code + p->at.file), out, LONGEST - 256), name;
	if (!n || line <= 0)
		return 0;
	do
		*--d = (char)('0' + line % 10);
	while (line /= 10);
	out[n++] = ':';
	while (d < digits + sizeof digits)
		out[n++] = *d++;
	out[n++] = ' ';
	name = text(p, word(p, code + p->at.name), out + n, 240);
	return name ? n + name : 0;
}

static uint64_t innermost(const struct python *p)
{
	uint64_t state = (uint64_t)(uintptr_t)p->at.state();
	if (state && p->at.hop >= 0)
		return (state = word(p, state + p->at.frame)) ? word(p, state + (uint64_t)p->at.hop) : 0;
	return state ? word(p, state + p->at.frame) : 0;
}

/* The code that a frame runs; 0 where it is the interpreter's own. */
static uint64_t code_of(const struct python *p, uint64_t frame)
{
	uint64_t code = object(p, frame + p->at.code);
	return code && word(p, code + 8) == p->at.code_type ? code : 0;
}

static uint64_t instruction_of(const struct python *p, uint64_t frame)
{
	uint64_t v = word(p, frame + p->at.instruction);
	return p->at.unit ? (uint32_t)v : v;
}

typedef int (*sayer)(uint32_t, const char *, size_t);

/* meet is the entry of a line; null where there is no room, or where another thread
 * is at it. Code that is freed may leave its address to another, with other names. */
static struct entry *meet(struct python *p, uint64_t code, uint64_t instruction)
{
	uint64_t names = word(p, code + p->at.file) ^ word(p, code + p->at.name) * 3;
	uint64_t hash = (code >> 4 ^ instruction * 0x9e3779b97f4a7c15ull) * 0x9e3779b97f4a7c15ull;
	char about[LONGEST];
	for (uint32_t i = 0; i < 16; i++) {
		struct entry *e = &p->entries[((hash >> 40) + i) & (PLACES - 1)];
		uint64_t taken = load(&e->code), none = 0;
		if (!taken && __atomic_compare_exchange_n(&e->code, &none, code, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			size_t n = text(p, word(p, code + p->at.file), about, sizeof about);
			about[n] = 0;
			e->instruction = instruction;
			e->names = names;
			store(&e->rank, n ? rank_of(about) : FRAMEWORK);
			return e;
		}
		if ((taken ? taken : none) == code) {
			if (!load(&e->rank))
				return 0;
			if (e->instruction == instruction && e->names == names)
				return e;
		}
	}
	return 0;
}

/* place looks at the thread's frames, the innermost first, for the first that is in
 * the best code there is. */
static struct entry *place(struct python *p)
{
	struct entry *best = 0;
	uint64_t frame = innermost(p);
	for (int depth = 0; frame && depth < DEPTH; depth++) {
		uint64_t code = code_of(p, frame);
		struct entry *e = code ? meet(p, code, instruction_of(p, frame)) : 0;
		if (e && (!best || e->rank < best->rank))
			best = e;
		if (best && best->rank == PROGRAM)
			break;
		frame = object(p, frame + p->at.previous);
	}
	return best;
}

/* caller looks on from there for the next function of the program's, which called that line. */
static struct entry *caller(struct python *p)
{
	uint64_t frame = innermost(p), inner = 0;
	for (int depth = 0; frame && depth < DEPTH; depth++) {
		uint64_t code = code_of(p, frame);
		struct entry *e = code ? meet(p, code, instruction_of(p, frame)) : 0;
		if (e && e->rank == PROGRAM && inner && code != inner)
			return e;
		if (e && e->rank == PROGRAM)
			inner = code;
		frame = object(p, frame + p->at.previous);
	}
	return 0;
}

/* number_of is the number of a place's line, 0 of none. What is new is told to say. */
static uint32_t number_of(struct python *p, struct entry *e, sayer say)
{
	char about[LONGEST];
	uint32_t unsaid = 0, number;
	if (!e)
		return 0;
	number = (uint32_t)(e - p->entries) + 1;
	if (__atomic_compare_exchange_n(&e->said, &unsaid, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		size_t n = describe(p, e->code, e->instruction, about);
		if (!n || !say(number, about, n))
			store(&e->said, 2);
	}
	return load(&e->said) == 2 ? 0 : number;
}

__attribute__((visibility("hidden"))) uint32_t python_place(uint32_t pid, sayer say, uint32_t *called)
{
	struct python *p;
	int saved = errno;
	uint32_t number = 0;
	*called = 0;
	if (!load(&adopted))
		return 0;
	__atomic_fetch_add(&walking, 1, __ATOMIC_SEQ_CST);
	p = __atomic_load_n(&adopted, __ATOMIC_SEQ_CST);
	if (p && p->pid == pid && (number = number_of(p, place(p), say)))
		*called = number_of(p, caller(p), say);
	__atomic_fetch_sub(&walking, 1, __ATOMIC_SEQ_CST);
	errno = saved;
	return number;
}

__attribute__((visibility("hidden"))) uint32_t python_line(uint32_t pid, int of_caller, const uint32_t *known,
							   char *out, size_t room, size_t *length)
{
	struct python *p;
	struct entry *e = 0;
	uint32_t number = 0;
	*length = 0;
	__atomic_fetch_add(&walking, 1, __ATOMIC_SEQ_CST);
	p = __atomic_load_n(&adopted, __ATOMIC_SEQ_CST);
	if (p && p->pid == pid && (e = of_caller ? caller(p) : place(p)))
		number = (uint32_t)(e - p->entries) + 1;
	if (number && !known[number] && room >= LONGEST)
		*length = describe(p, e->code, e->instruction, out);
	__atomic_fetch_sub(&walking, 1, __ATOMIC_SEQ_CST);
	return number;
}

__attribute__((visibility("hidden"))) uint32_t python_told(void)
{
	const struct python *p = load(&adopted);
	return p ? p->pid : 0;
}

/* What the agent calls. */

/* gpumem_python_copy copies what the agent searches, 0 where that is no memory. */
EXPORT int gpumem_python_copy(uint64_t from, void *to, size_t n)
{
	static const struct python untrusted;
	int saved = errno, ok = copy(&untrusted, from, to, n);
	errno = saved;
	return ok;
}

/* gpumem_python_place writes the line of one of the calling thread's frames, the
 * innermost being 0, by a layout that is only tried. It returns the length, 0 for a frame
 * without a line, and -1 where there is no such frame. Nothing is read that is no memory. */
EXPORT int gpumem_python_place(const struct python_layout *layout, unsigned depth, char *out, size_t room)
{
	struct python *p = mmap(0, sizeof *p, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char about[LONGEST];
	uint64_t frame, code;
	size_t n = 0;
	if (p == MAP_FAILED)
		return -1;
	p->at = *layout;
	frame = innermost(p);
	for (int i = 0; frame; i++) { /* a layout that is wrong may lead round in a circle */
		if ((code = code_of(p, frame)) && depth-- == 0) {
			n = describe(p, code, instruction_of(p, frame), about);
			break;
		}
		frame = i < MOST_FRAMES ? object(p, frame + p->at.previous) : 0;
	}
	munmap(p, sizeof *p);
	if (n >= room)
		n = 0;
	__builtin_memcpy(out, about, n);
	return frame ? (int)n : -1;
}

/* gpumem_python adopts a layout for this process; a forked child adopts it again. */
EXPORT void gpumem_python(const struct python_layout *layout)
{
	struct python *p;
	uint32_t pid = (uint32_t)getpid();
	if (python_told() == pid)
		return;
	p = mmap(0, sizeof *p, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return;
	p->at = *layout;
	p->pid = pid;
	p->trusted = 1;
	store(&adopted, p);
}

/* gpumem_python_stop ends it. The interpreter is about to free the states of threads
 * that still run, so it returns when none is read any more. A forked child may have
 * been told of a thread that it has not: it waits a while only. */
EXPORT void gpumem_python_stop(void)
{
	__atomic_store_n(&adopted, 0, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 1000 && __atomic_load_n(&walking, __ATOMIC_SEQ_CST); i++)
		syscall(SYS_sched_yield);
}
