/* Samples what Python's allocators hand out, with the line of Python that asked, for some
 * seconds: whose host memory nobody holds under a name has a line by this. The agent opens
 * such a window and closes it, under the interpreter's lock, which is also held wherever
 * blocks of these two domains are asked for and given back.
 *
 * So is it for the data of NumPy's arrays, nearly always: where a thread has it not, what it
 * asks for passes by, and what it gives back is taken out without a lock. */
#include "heap.h"
#include "samples.h"

#define DOMAINS 2 /* PYMEM_DOMAIN_MEM and PYMEM_DOMAIN_OBJ, which are 1 and 2 */

static struct samples samples = {.left = INT64_MAX};
static struct heap_doors doors;
static struct allocator below[DOMAINS];
static u32 is_open;
static u32 in_place; /* the hooks are somewhere among the interpreter's, for all that we know */

/* What NumPy has for arrays' data, for ever: a tool may have kept our hooks to call them later. */
static struct array_allocator arrays;
static struct array_handler *handler; /* with our hooks in it; null while none are */
static int (*is_locked)(void);

static inline void came(void *p, size_t n, u32 is_data) { samples_came(&samples, p, n, is_data); }

static inline void goes(const void *p) { samples_went(&samples, p); }

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
EXPORT int gpumem_heap_open(const struct heap_doors *at, u64 period)
{
	if (is_open || !period)
		return 0;
	for (int i = 0; i < DOMAINS; i++) {
		struct allocator there;
		at->get(i + 1, &there);
		if (in_place && there.malloc != sampled_malloc)
			return 0; /* maybe a tool's are on top of ours: once more on top of those, they would call each other */
	}
	if (!samples_begin(&samples, period))
		return 0;
	doors = *at;
	is_open = 1;
	for (int i = 0; i < DOMAINS && !in_place; i++) {
		struct allocator ours = {&below[i], sampled_malloc, sampled_calloc, sampled_realloc, sampled_free};
		doors.get(i + 1, &below[i]);
		doors.set(i + 1, &ours);
	}
	in_place = 1;
	return 1;
}

/* close_window takes the hooks away, but where a tool has put its own on top. */
static void close_window(void)
{
	struct allocator there;
	int on_top = 1;
	is_open = 0;
	samples_end(&samples);
	for (int i = 0; i < DOMAINS; i++) {
		doors.get(i + 1, &there);
		on_top &= there.malloc == sampled_malloc;
	}
	for (int i = 0; i < DOMAINS && on_top; i++)
		doors.set(i + 1, &below[i]);
	in_place = !on_top;
}

/* gpumem_heap_calls is how many blocks were asked for since the window was opened, which is what it
 * costs the program. */
EXPORT u64 gpumem_heap_calls(void) { return samples.calls; }

/* gpumem_heap_close ends a window and tells, by samples_tell, of its first so many milliseconds; what
 * is marked is arrays' data. */
EXPORT size_t gpumem_heap_close(unsigned first, char *out, size_t room)
{
	int knows_data;
	if (!is_open)
		return 0;
	knows_data = end_arrays();
	close_window();
	return samples_tell(&samples, first, knows_data, out, room);
}
