/* The unwinder of the interposer: .eh_frame as the System V ABI (x86-64, section
 * 3.7; AAPCS64's DWARF) and the Linux Standard Base (chapter 10.6, Exception
 * Frames; 11.8, .eh_frame_hdr) define it. It follows what compilers write for
 * ordinary functions: a frame's address is a register and an offset, registers are
 * saved beside it. At an expression, at a signal's frame, or where the C library is
 * too old to find a table without a lock (_dl_find_object, glibc 2.35), it stops.
 */
#include "unwind.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

typedef uintptr_t word;

#if defined(__x86_64__)
enum { FP_REG = 6, SP_REG = 7, RA_REG = 16 };
#else
enum { FP_REG = 29, SP_REG = 31, RA_REG = 30 };
#endif
#define REGISTERS 33
#define MOST_INSTRUCTIONS 512
#define MOST_SAVED_ROWS 4

/* As in <dlfcn.h> of glibc 2.35 on the machines that we know: no field of its own
 * for a data base there. */
struct object {
	unsigned long long flags;
	void *start, *end;
	void *link_map;
	void *eh_frame_hdr;
	unsigned long long reserved[7];
};
static int (*find_object)(void *pc, struct object *result);

void unwind_by(void *find)
{
	__atomic_store_n((void **)&find_object, find, __ATOMIC_RELEASE);
}

/* What is known of the frame that is left next. */
struct frame {
	word pc, reg[REGISTERS];
	uint64_t known; /* a bit a register */
};

enum how { SAME, LOST, AT };

/* One row of the table: how the caller's registers come out of the callee's. */
struct row {
	uint32_t cfa_reg;
	intptr_t cfa_offset;
	uint8_t how[REGISTERS];
	intptr_t at[REGISTERS]; /* from the frame's address */
	int expression;
};

/* Bytes of a table, read in order. */
struct bytes {
	const uint8_t *at, *end;
	int bad;
};

static uint8_t byte(struct bytes *b)
{
	if (b->at >= b->end) {
		b->bad = 1;
		return 0;
	}
	return *b->at++;
}

static uint64_t fixed(struct bytes *b, uint32_t size)
{
	uint64_t v = 0;
	if ((size_t)(b->end - b->at) < size) {
		b->bad = 1;
		b->at = b->end;
		return 0;
	}
	memcpy(&v, b->at, size); /* little-endian, on both machines */
	b->at += size;
	return v;
}

static uint64_t uleb(struct bytes *b)
{
	uint64_t v = 0;
	for (uint32_t shift = 0; shift < 64; shift += 7) {
		uint8_t c = byte(b);
		v |= (uint64_t)(c & 127) << shift;
		if (!(c & 128))
			return v;
	}
	b->bad = 1;
	return 0;
}

static int64_t sleb(struct bytes *b)
{
	uint64_t v = 0;
	for (uint32_t shift = 0; shift < 64;) {
		uint8_t c = byte(b);
		v |= (uint64_t)(c & 127) << shift;
		shift += 7;
		if (!(c & 128))
			return (int64_t)(shift < 64 && (c & 64) ? v | -(1ull << shift) : v);
	}
	b->bad = 1;
	return 0;
}

/* pointer reads one in an encoding of the LSB; data is the base of those that are
 * relative to the table. */
static word pointer(struct bytes *b, uint8_t encoding, word data)
{
	word here = (word)b->at, v;
	switch (encoding & 15) {
	case 0: v = fixed(b, sizeof(word)); break;
	case 1: v = uleb(b); break;
	case 2: v = fixed(b, 2); break;
	case 3: v = fixed(b, 4); break;
	case 4: v = fixed(b, 8); break;
	case 9: v = (word)sleb(b); break;
	case 10: v = (word)(int16_t)fixed(b, 2); break;
	case 11: v = (word)(int32_t)fixed(b, 4); break;
	case 12: v = fixed(b, 8); break;
	default: b->bad = 1; return 0;
	}
	switch (encoding & 0x70) {
	case 0: return v;
	case 0x10: return v + here;
	case 0x30: return v + data;
	}
	b->bad = 1;
	return 0;
}

/* entry finds where the description of pc begins, by the sorted table of
 * .eh_frame_hdr; 0 without. */
static const uint8_t *entry(word pc)
{
	struct object o;
	const uint8_t *head;
	struct bytes b;
	word count, table;
	uint32_t low = 0, high;
	if (find_object((void *)pc, &o) != 0 || !o.eh_frame_hdr)
		return 0;
	head = o.eh_frame_hdr;
	/* version 1; the table of pairs of 4 bytes, relative to the head, is what all
	 * linkers write */
	if (head[0] != 1 || head[2] == 0xff || head[3] != 0x3b)
		return 0;
	b = (struct bytes){head + 4, head + 64, 0};
	pointer(&b, head[1], (word)head);
	count = pointer(&b, head[2], (word)head);
	table = (word)b.at;
	if (b.bad || !count || count > UINT32_MAX)
		return 0;
	for (high = (uint32_t)count; high - low > 1;) {
		uint32_t middle = low + (high - low) / 2;
		int32_t from;
		memcpy(&from, (void *)(table + (word)middle * 8), 4);
		if ((word)head + (word)(intptr_t)from <= pc)
			low = middle;
		else
			high = middle;
	}
	{
		int32_t from, to;
		memcpy(&from, (void *)(table + (word)low * 8), 4);
		memcpy(&to, (void *)(table + (word)low * 8 + 4), 4);
		if ((word)head + (word)(intptr_t)from > pc)
			return 0;
		return head + to;
	}
}

/* What a CIE says of the entries under it. */
struct common {
	uint64_t code_align;
	int64_t data_align;
	uint32_t ra_reg;
	uint8_t encoding, augmented, signal;
	struct bytes program;
};

/* record is the body of an entry at a place, after its length. */
static int record(const uint8_t *at, struct bytes *body)
{
	uint32_t size;
	memcpy(&size, at, 4);
	if (size == 0 || size == UINT32_MAX)
		return 0; /* the end, or of 64 bits, which nobody writes */
	*body = (struct bytes){at + 4, at + 4 + size, 0};
	return 1;
}

static int read_common(const uint8_t *at, struct common *c)
{
	struct bytes b, augmentation;
	const char *letters;
	uint8_t version;
	if (!record(at, &b) || fixed(&b, 4) != 0)
		return 0;
	version = byte(&b);
	if (version != 1 && version != 3)
		return 0;
	letters = (const char *)b.at;
	while (byte(&b))
		if (b.bad)
			return 0;
	c->code_align = uleb(&b);
	c->data_align = sleb(&b);
	c->ra_reg = version == 1 ? byte(&b) : (uint32_t)uleb(&b);
	c->encoding = c->augmented = c->signal = 0;
	if (letters[0] == 'z') {
		uint64_t size = uleb(&b);
		if (b.bad || size > (size_t)(b.end - b.at))
			return 0;
		augmentation = (struct bytes){b.at, b.at + size, 0};
		b.at += size;
		c->augmented = 1;
		for (letters++; *letters; letters++) {
			switch (*letters) {
			case 'R': c->encoding = byte(&augmentation); break;
			case 'P': pointer(&augmentation, byte(&augmentation) & 0x7f, 0); break;
			case 'L': byte(&augmentation); break;
			case 'S': c->signal = 1; break;
			case 'B': break; /* return addresses are signed with the other key */
			default: return 0;
			}
		}
		if (augmentation.bad)
			return 0;
	} else if (letters[0]) {
		return 0;
	}
	c->program = b;
	return !b.bad && c->ra_reg < REGISTERS;
}

static void set(struct row *r, uint64_t reg, enum how how, intptr_t at)
{
	if (reg >= REGISTERS)
		return;
	r->how[reg] = (uint8_t)how;
	r->at[reg] = at;
}

static void define(struct row *r, uint64_t reg, int64_t offset)
{
	r->cfa_reg = reg < REGISTERS ? (uint32_t)reg : REGISTERS;
	r->cfa_offset = (intptr_t)offset;
	r->expression = 0;
}

/* run follows instructions until the row of pc is complete. from is where the
 * function begins. */
static int run(struct bytes b, const struct common *c, word from, word pc, struct row *r, const struct row *initial)
{
	struct row saved[MOST_SAVED_ROWS];
	uint32_t depth = 0, left = MOST_INSTRUCTIONS;
	word at = from;
	while (b.at < b.end && !b.bad) {
		uint8_t op = byte(&b), low = op & 63;
		uint64_t reg;
		word skip = 0;
		if (!left--)
			return 0;
		switch (op & 0xc0) {
		case 0x40: skip = low; goto advance;
		case 0x80: set(r, low, AT, (intptr_t)((int64_t)uleb(&b) * c->data_align)); continue;
		case 0xc0:
			if (low < REGISTERS && initial)
				set(r, low, initial->how[low], initial->at[low]);
			continue;
		}
		switch (op) {
		case 0x00: break;                              /* nop */
		case 0x01: at = pointer(&b, c->encoding, 0); if (at > pc) return 1; break;
		case 0x02: skip = fixed(&b, 1); goto advance;
		case 0x03: skip = fixed(&b, 2); goto advance;
		case 0x04: skip = fixed(&b, 4); goto advance;
		case 0x05: reg = uleb(&b); set(r, reg, AT, (intptr_t)((int64_t)uleb(&b) * c->data_align)); break;
		case 0x06: reg = uleb(&b); if (reg < REGISTERS && initial) set(r, reg, initial->how[reg], initial->at[reg]); break;
		case 0x07: set(r, uleb(&b), LOST, 0); break;
		case 0x08: set(r, uleb(&b), SAME, 0); break;
		case 0x09: reg = uleb(&b); uleb(&b); set(r, reg, LOST, 0); break;
		case 0x0a: if (depth == MOST_SAVED_ROWS) return 0; saved[depth++] = *r; break;
		case 0x0b: if (!depth) return 0; *r = saved[--depth]; break;
		case 0x0c: reg = uleb(&b); define(r, reg, (int64_t)uleb(&b)); break;
		case 0x0d: reg = uleb(&b); define(r, reg, r->cfa_offset); break;
		case 0x0e: define(r, r->cfa_reg, (int64_t)uleb(&b)); break;
		case 0x0f: r->expression = 1; reg = uleb(&b); if (reg > (size_t)(b.end - b.at)) return 0; b.at += reg; break;
		case 0x10: case 0x16: {
			uint64_t size;
			reg = uleb(&b);
			size = uleb(&b);
			if (size > (size_t)(b.end - b.at))
				return 0;
			b.at += size;
			set(r, reg, LOST, 0);
			break;
		}
		case 0x11: reg = uleb(&b); set(r, reg, AT, (intptr_t)(sleb(&b) * c->data_align)); break;
		case 0x12: reg = uleb(&b); define(r, reg, sleb(&b) * c->data_align); break;
		case 0x13: define(r, r->cfa_reg, sleb(&b) * c->data_align); break;
		case 0x14: case 0x15: reg = uleb(&b); uleb(&b); set(r, reg, LOST, 0); break;
		case 0x2d: break;                              /* arm64: the return address is signed from here on */
		case 0x2e: uleb(&b); break;                    /* size of arguments */
		default: return 0;
		}
		continue;
	advance:
		at += skip * c->code_align;
		if (at > pc)
			return !b.bad;
	}
	return !b.bad;
}

/* describe makes the row of pc. A return address may be the first byte after a
 * function that never returns, so the byte before it is what is looked up. */
static int describe(word pc, struct row *r, uint32_t *ra_reg)
{
	const uint8_t *at = entry(pc - 1), *cie;
	struct bytes b;
	struct common c;
	struct row initial;
	word from, size;
	uint32_t back;
	if (!at || !record(at, &b))
		return 0;
	cie = b.at;
	back = (uint32_t)fixed(&b, 4);
	if (!back || !read_common(cie - back, &c) || c.signal)
		return 0;
	from = pointer(&b, c.encoding & 0x7f, 0);
	size = pointer(&b, c.encoding & 15, 0);
	if (b.bad || pc - 1 < from || pc - 1 >= from + size)
		return 0;
	if (c.augmented) {
		uint64_t skip = uleb(&b);
		if (skip > (size_t)(b.end - b.at))
			return 0;
		b.at += skip;
	}
	memset(r, 0, sizeof *r);
	r->cfa_reg = REGISTERS;
	if (!run(c.program, &c, from, UINTPTR_MAX, r, 0))
		return 0;
	initial = *r;
	*ra_reg = c.ra_reg;
	return run(b, &c, from, pc - 1, r, &initial);
}

static int stacked(word at, word low, word high)
{
	return at >= low && at < high && high - at >= sizeof(word) && at % sizeof(word) == 0;
}

/* leave turns a frame into that of its caller; where is the place of the return
 * address that was followed. */
static int leave(struct frame *f, word low, word high, word *where)
{
	struct row r;
	struct frame up = {0};
	uint32_t ra;
	word cfa;
	if (!describe(f->pc, &r, &ra) || r.expression || r.cfa_reg >= REGISTERS || !(f->known >> r.cfa_reg & 1))
		return 0;
	cfa = f->reg[r.cfa_reg] + (word)r.cfa_offset;
	if (cfa <= f->reg[SP_REG] || cfa > high)
		return 0; /* stacks grow down */
	if (r.how[ra] != AT || !stacked(cfa + (word)r.at[ra], low, high))
		return 0;
	*where = cfa + (word)r.at[ra];
	up.pc = *(word *)*where;
#ifdef __aarch64__
	up.pc &= 0x0000ffffffffffffu; /* return addresses may be signed */
#endif
	for (uint32_t i = 0; i < REGISTERS; i++) {
		word at = cfa + (word)r.at[i];
		if (r.how[i] == AT && stacked(at, low, high))
			up.reg[i] = *(word *)at;
		else if (r.how[i] == SAME && f->known >> i & 1)
			up.reg[i] = f->reg[i];
		else
			continue;
		up.known |= 1ull << i;
	}
	up.reg[SP_REG] = cfa;
	up.known |= 1ull << SP_REG;
	*f = up;
	return up.pc != 0;
}

/* ---- what was walked before --------------------------------------------- */

/* A program asks at few places. The way up from one is kept with the places of the
 * return addresses on the stack: it holds as long as these have the same values. */
#define WAYS 256
static struct way {
	uint32_t turn; /* odd while it is written */
	uint32_t n;
	word pc, sp;
	word where[MOST_FRAMES], to[MOST_FRAMES];
} ways[WAYS];

static struct way *way_of(word pc, word sp)
{
	uint64_t h = (uint64_t)(pc ^ sp >> 4) * 0x9e3779b97f4a7c15u;
	return &ways[h >> 56];
}

static uint32_t known_way(struct way *w, word pc, word sp, word high, uint64_t *out, uint32_t want)
{
	uint32_t turn = __atomic_load_n(&w->turn, __ATOMIC_ACQUIRE), n = w->n;
	if (turn & 1 || w->pc != pc || w->sp != sp || !n || n > MOST_FRAMES)
		return 0;
	if (n > want)
		n = want;
	out[0] = pc;
	for (uint32_t i = 1; i < n; i++) {
		word at = w->where[i], to = w->to[i];
		if (!stacked(at, sp - 64, high) || *(word *)at != to)
			return 0;
		out[i] = to;
#ifdef __aarch64__
		out[i] &= 0x0000ffffffffffffu;
#endif
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&w->turn, __ATOMIC_RELAXED) == turn ? n : 0;
}

static void keep_way(struct way *w, word pc, word sp, const word *where, uint32_t n)
{
	uint32_t turn = __atomic_load_n(&w->turn, __ATOMIC_RELAXED);
	if (turn & 1 || !__atomic_compare_exchange_n(&w->turn, &turn, turn + 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return; /* another thread is at it */
	w->pc = pc;
	w->sp = sp;
	w->n = n;
	for (uint32_t i = 1; i < n; i++) {
		w->where[i] = where[i];
		w->to[i] = *(word *)where[i];
	}
	__atomic_store_n(&w->turn, turn + 2, __ATOMIC_RELEASE);
}

/* walk_anew reads the tables, which a way that is known does without: its frame alone is
 * as long as the way. */
static __attribute__((noinline)) uint32_t walk_anew(struct way *w, word pc, word sp, word fp, word high, uint64_t *out, uint32_t want)
{
	struct frame f = {.pc = pc};
	word where[MOST_FRAMES] = {0}, low = sp - 64; /* the red zone and what a leaf saved */
	uint32_t n;
	f.reg[SP_REG] = sp;
	f.reg[FP_REG] = fp;
	f.known = 1ull << SP_REG | 1ull << FP_REG;
	out[0] = pc;
	for (n = 1; n < want && leave(&f, low, high, &where[n]); n++)
		out[n] = f.pc;
	keep_way(w, pc, sp, where, n);
	return n;
}

uint32_t unwind(uintptr_t pc, uintptr_t sp, uintptr_t fp, uintptr_t high, uint64_t *out, uint32_t want)
{
	struct way *w = way_of(pc, sp);
	uint32_t n;
	if (!find_object || !want)
		return 0;
	if (want > MOST_FRAMES)
		want = MOST_FRAMES;
	n = known_way(w, pc, sp, high, out, want);
	return n ? n : walk_anew(w, pc, sp, fp, high, out, want);
}
