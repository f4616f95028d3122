/* Samples what Python's allocators hand out, with the line of Python that asked, for some
 * seconds: whose host memory nobody holds under a name has a line by this. The agent opens
 * such a window and closes it, under the interpreter's lock, which is also held wherever
 * blocks of these two domains are asked for and given back.
 *
 * So is it for the data of NumPy's arrays, nearly always: where a thread has it not, what it
 * asks for passes by, and what it gives back is taken out without a lock.
 *
 * One of so many bytes is sampled. A sample that is given back is forgotten, so that at
 * the end those are left that lived. An allocation that is not sampled takes a call and a
 * subtraction more, and what is given back a look into a filter. */
#include <sys/mman.h>
#include <unistd.h>

#include "heap.h"
#include "python.h"

#define DOMAINS 2          /* PYMEM_DOMAIN_MEM and PYMEM_DOMAIN_OBJ, which are 1 and 2 */
#define BUCKETS 2048       /* of samples; a power of two */
#define WAYS 4             /* samples in one */
#define BITS (1u << 16)    /* of the filter */
#define TEXTS (1u << 16)   /* bytes of lines' texts */
#define CROWD 2000         /* samples after which one in twice as many bytes is taken */
#define LARGE 8            /* periods, from which an allocation counts with its size */

struct sample {
	uintptr_t at; /* 0: none */
	u64 bytes;
	u32 line;
	u32 born : 31; /* milliseconds since the window was opened */
	u32 is_data : 1; /* of an array */
};

struct heap {
	struct heap_doors doors;
	struct allocator below[DOMAINS];
	u64 begun, period, random;
	u32 pid, taken;
	struct sample samples[BUCKETS][WAYS];
	u64 bytes[PYTHON_PLACES + 1]; /* by line, when it is told */
	u64 data[PYTHON_PLACES + 1];  /* and of arrays' among them */
	u32 counts[PYTHON_PLACES + 1];
	u32 text[PYTHON_PLACES + 1]; /* where its text begins, and 0 where it is not known */
	u32 used;                    /* of texts */
	char texts[TEXTS];
};

static struct heap *heap;
static u32 is_open;
static u32 in_place; /* the hooks are somewhere among the interpreter's, for all that we know */
static int64_t left = INT64_MAX; /* bytes until the next sample; none comes while no window is open */
static u64 calls;                /* that asked for a block, since the window was opened */
static u64 filter[BITS / 64];    /* a bit for each block that may be sampled; none while no window is open */

/* What NumPy has for arrays' data, for ever: a tool may have kept our hooks to call them later. */
static struct array_allocator arrays;
static struct array_handler *handler; /* with our hooks in it; null while none are */
static int (*is_locked)(void);

static inline u64 *word_of(const void *p) { return &filter[(uintptr_t)p >> 10 & (BITS / 64 - 1)]; }
static inline u64 bit_of(const void *p) { return 1ull << ((uintptr_t)p >> 4 & 63); }

static struct sample *bucket_of(struct heap *h, const void *p)
{
	return h->samples[((u64)(uintptr_t)p >> 4) * 0x9e3779b97f4a7c15ull >> 40 & (BUCKETS - 1)];
}

/* gap is how many bytes to go until the next sample: the period on average, and no multiple
 * of anything that the program does. */
static int64_t gap(struct heap *h)
{
	h->random ^= h->random << 13;
	h->random ^= h->random >> 7;
	h->random ^= h->random << 17;
	return (int64_t)(h->random % (2 * h->period)) + 1;
}

/* line_of is the number of the line of Python that this thread is at, with its text known. */
static u32 line_of(struct heap *h)
{
	size_t n = 0;
	u32 at = h->used, line = python_line(h->pid, h->text, h->texts + at, at < TEXTS ? TEXTS - 1 - at : 0, &n);
	if (n) {
		h->text[line] = at;
		h->texts[at + n] = 0;
		h->used = at + (u32)n + 1;
	}
	return h->text[line] ? line : 0;
}

static __attribute__((noinline)) void take(void *p, size_t n, u32 is_data)
{
	struct heap *h = heap;
	struct sample *bucket = bucket_of(h, p);
	u64 bytes = n >= LARGE * h->period ? n : 0;
	if (bytes)
		left = gap(h);
	for (; left < 0; left += gap(h))
		bytes += h->period;
	if (++h->taken % CROWD == 0)
		h->period *= 2;
	for (int i = 0; p && i < WAYS; i++)
		if (!load(&bucket[i].at)) {
			u32 born = (u32)((now(CLOCK_MONOTONIC) - h->begun) / 1000000);
			*word_of(p) |= bit_of(p);
			bucket[i] = (struct sample){0, bytes, line_of(h), born & INT32_MAX, is_data};
			store(&bucket[i].at, (uintptr_t)p);
			return;
		}
}

static inline void came(void *p, size_t n, u32 is_data)
{
	calls++;
	if (__builtin_expect((left -= (int64_t)n) < 0, 0))
		take(p, n, is_data);
}

static __attribute__((noinline)) void forget(const void *p)
{
	struct sample *bucket = bucket_of(heap, p);
	for (int i = 0; i < WAYS; i++) {
		uintptr_t gone = (uintptr_t)p; /* another thread may put the next one here */
		__atomic_compare_exchange_n(&bucket[i].at, &gone, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	}
}

static inline void goes(const void *p)
{
	if (__builtin_expect((*word_of(p) & bit_of(p)) != 0, 0))
		forget(p);
}

static void *sampled_malloc(void *ctx, size_t n)
{
	const struct allocator *a = ctx;
	void *p = a->malloc(a->ctx, n);
	came(p, n, 0);
	return p;
}

static void *sampled_calloc(void *ctx, size_t count, size_t size)
{
	const struct allocator *a = ctx;
	void *p = a->calloc(a->ctx, count, size);
	came(p, count * size, 0);
	return p;
}

static void *sampled_realloc(void *ctx, void *block, size_t n)
{
	const struct allocator *a = ctx;
	void *p = a->realloc(a->ctx, block, n);
	if (p) {
		goes(block);
		came(p, n, 0);
	}
	return p;
}

static void sampled_free(void *ctx, void *block)
{
	const struct allocator *a = ctx;
	goes(block);
	a->free(a->ctx, block);
}

/* Those of arrays' data have a context of NumPy's, or another's that kept our hooks. */

static void *sampled_data_malloc(void *ctx, size_t n)
{
	void *p = arrays.malloc(ctx, n);
	if (is_locked())
		came(p, n, 1);
	return p;
}

static void *sampled_data_calloc(void *ctx, size_t count, size_t size)
{
	void *p = arrays.calloc(ctx, count, size);
	if (is_locked())
		came(p, count * size, 1);
	return p;
}

static void *sampled_data_realloc(void *ctx, void *block, size_t n)
{
	void *p = arrays.realloc(ctx, block, n);
	if (p)
		goes(block);
	if (p && is_locked())
		came(p, n, 1);
	return p;
}

static void sampled_data_free(void *ctx, void *block, size_t n)
{
	goes(block);
	arrays.free(ctx, block, n);
}

#define EACH_OF_DATA(X) X(malloc) X(calloc) X(realloc) X(free)

/* gpumem_heap_arrays has the window that is open sample arrays' data as well, which NumPy asks
 * of this handler. locked tells whether a thread has the interpreter's lock. It returns 0 where
 * another tool's functions are in the handler. */
EXPORT int gpumem_heap_arrays(struct array_handler *at, int (*locked)(void))
{
	struct array_allocator *a = &at->allocator;
	if (!is_open || handler)
		return 0;
	if (!arrays.malloc)
		arrays = *a;
#define IS_KNOWN(f) && (load(&a->f) == arrays.f || load(&a->f) == sampled_data_##f)
	if (!(1 EACH_OF_DATA(IS_KNOWN)))
		return 0;
	is_locked = locked;
	handler = at;
#define PUT(f) store(&a->f, sampled_data_##f);
	EACH_OF_DATA(PUT)
	return 1;
}

/* end_arrays puts NumPy's functions back where ours are. It returns whether all of them were: else
 * what was given back may have gone by. */
static int end_arrays(void)
{
	struct array_allocator *a = handler ? &handler->allocator : 0;
	int all = 1;
	if (!a)
		return 1;
#define PUT_BACK(f) if (load(&a->f) == sampled_data_##f) store(&a->f, arrays.f); else all = 0;
	EACH_OF_DATA(PUT_BACK)
	handler = 0;
	return all;
}

/* gpumem_heap_open begins to sample one of so many bytes. It returns 0 where it cannot. The
 * memory that it takes stays, as a tool that came on top may call through us for ever. */
EXPORT int gpumem_heap_open(const struct heap_doors *doors, u64 period)
{
	struct heap *h = heap;
	if (is_open || !period)
		return 0;
	if (!h) {
		h = mmap(0, sizeof *h, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (h == MAP_FAILED)
			return 0;
		h->used = 1;
		heap = h;
	}
	for (int i = 0; i < DOMAINS; i++) {
		struct allocator there;
		doors->get(i + 1, &there);
		if (in_place && there.malloc != sampled_malloc)
			return 0; /* maybe a tool's are on top of ours: once more on top of those, they would call each other */
	}
	__builtin_memset(h->samples, 0, sizeof h->samples);
	h->doors = *doors;
	h->begun = now(CLOCK_MONOTONIC);
	h->random = h->begun | 1;
	h->period = period;
	h->pid = (u32)getpid();
	h->taken = 0;
	calls = 0;
	is_open = 1;
	for (int i = 0; i < DOMAINS && !in_place; i++) {
		struct allocator ours = {&h->below[i], sampled_malloc, sampled_calloc, sampled_realloc, sampled_free};
		h->doors.get(i + 1, &h->below[i]);
		h->doors.set(i + 1, &ours);
	}
	in_place = 1;
	left = gap(h);
	return 1;
}

/* close_window takes the hooks away, but where a tool has put its own on top. */
static void close_window(struct heap *h)
{
	struct allocator there;
	int on_top = 1;
	is_open = 0;
	left = INT64_MAX;
	__builtin_memset(filter, 0, sizeof filter);
	for (int i = 0; i < DOMAINS; i++) {
		h->doors.get(i + 1, &there);
		on_top &= there.malloc == sampled_malloc;
	}
	for (int i = 0; i < DOMAINS && on_top; i++)
		h->doors.set(i + 1, &h->below[i]);
	in_place = !on_top;
}

/* gpumem_heap_calls is how many blocks were asked for since the window was opened, which is what it
 * costs the program. */
EXPORT u64 gpumem_heap_calls(void) { return calls; }

static char *number(char *at, u64 v)
{
	char digits[20], *d = digits + sizeof digits;
	do
		*--d = (char)('0' + v % 10);
	while (v /= 10);
	while (d < digits + sizeof digits)
		*at++ = *d++;
	*at++ = ' ';
	return at;
}

/* gpumem_heap_close ends a window and writes, for each line, "BYTES DATA COUNT FILE:LINE NAME" of
 * what was asked for in its first so many milliseconds and lives; DATA are the bytes of arrays'
 * data among them. It returns the length; what has no room is left out. */
EXPORT size_t gpumem_heap_close(unsigned first, char *out, size_t room)
{
	struct heap *h = heap;
	char *end = out;
	int knows_data;
	if (!h || !is_open)
		return 0;
	knows_data = end_arrays();
	close_window(h);
	__builtin_memset(h->bytes, 0, sizeof h->bytes);
	__builtin_memset(h->data, 0, sizeof h->data);
	__builtin_memset(h->counts, 0, sizeof h->counts);
	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct sample *s = h->samples[i]; s < h->samples[i] + WAYS; s++)
			if (s->at && s->line && s->born <= first && (knows_data || !s->is_data)) {
				h->bytes[s->line] += s->bytes;
				h->data[s->line] += s->is_data ? s->bytes : 0;
				h->counts[s->line]++;
			}
	for (u32 line = 1; line <= PYTHON_PLACES; line++) {
		const char *text = h->texts + h->text[line];
		size_t n = h->counts[line] ? __builtin_strlen(text) : 0;
		if (!n || (size_t)(end - out) + n + 72 > room)
			continue;
		end = number(number(number(end, h->bytes[line]), h->data[line]), h->counts[line]);
		__builtin_memcpy(end, text, n);
		end[n] = '\n';
		end += n + 1;
	}
	return (size_t)(end - out);
}
