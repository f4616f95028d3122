/* Samples, for some seconds, what an allocator hands out, with the line of Python that asked: of
 * Python's own allocators heap.c, of a framework's on a device blocks.c.
 *
 * One of so many bytes is sampled. A sample that is given back is forgotten, so that at
 * the end those are left that lived. An allocation that is not sampled takes a call and a
 * subtraction more, and what is given back a look into a filter. */
#include <sys/mman.h>
#include <unistd.h>

#include "python.h"
#include "samples.h"

#define BUCKETS 2048       /* of samples; a power of two */
#define WAYS 4             /* samples in one */
#define TEXTS (1u << 16)   /* bytes of lines' texts */
#define CROWD 2000         /* samples after which one in twice as many bytes is taken */
#define LARGE 8            /* periods, from which an allocation counts with its size */

struct sample {
	uintptr_t at; /* 0: none */
	u64 bytes;
	u32 line, caller; /* which called the line's function */
	u32 born : 31; /* milliseconds since the window was opened */
	u32 is_marked : 1;
};

struct sampled {
	u64 begun, period, random;
	u32 pid, taken;
	struct sample samples[BUCKETS][WAYS];
	u64 bytes[PYTHON_PLACES + 1];  /* by line, when it is told */
	u64 marked[PYTHON_PLACES + 1]; /* and what was marked among them */
	u32 counts[PYTHON_PLACES + 1];
	u32 callers[PYTHON_PLACES + 1]; /* that of most, if one is of most */
	int64_t votes[PYTHON_PLACES + 1];
	u32 text[PYTHON_PLACES + 1]; /* where its text begins, and 0 where it is not known */
	u32 used;                    /* of texts */
	char texts[TEXTS];
};

static struct sample *bucket_of(struct sampled *a, const void *p)
{
	return a->samples[((u64)(uintptr_t)p >> 4) * 0x9e3779b97f4a7c15ull >> 40 & (BUCKETS - 1)];
}

/* gap is how many bytes to go until the next sample: the period on average, and no multiple
 * of anything that the program does. */
static int64_t gap(struct sampled *a)
{
	a->random ^= a->random << 13;
	a->random ^= a->random >> 7;
	a->random ^= a->random << 17;
	return (int64_t)(a->random % (2 * a->period)) + 1;
}

/* line_of is the number of the line of Python that this thread is at, or of the one that called its
 * function, with its text known. */
static u32 line_of(struct sampled *a, int of_caller)
{
	size_t n = 0, room = a->used < TEXTS ? TEXTS - 1 - a->used : 0;
	u32 at = a->used, line = python_line(a->pid, of_caller, a->text, a->texts + at, room, &n);
	if (n) {
		a->text[line] = at;
		a->texts[at + n] = 0;
		a->used = at + (u32)n + 1;
	}
	return a->text[line] ? line : 0;
}

__attribute__((noinline)) void samples_take(struct samples *s, void *p, size_t n, u32 is_marked)
{
	struct sampled *a = s->all;
	struct sample *bucket = bucket_of(a, p);
	u64 bytes = n >= LARGE * a->period ? n : 0;
	if (bytes)
		s->left = gap(a);
	for (; s->left < 0; s->left += gap(a))
		bytes += a->period;
	if (++a->taken % CROWD == 0)
		a->period *= 2;
	for (int i = 0; p && i < WAYS; i++)
		if (!load(&bucket[i].at)) {
			u32 born = (u32)((now(CLOCK_MONOTONIC) - a->begun) / 1000000);
			*samples_word(s, p) |= samples_bit(p);
			bucket[i] = (struct sample){0, bytes, line_of(a, 0), line_of(a, 1), born & INT32_MAX, is_marked};
			store(&bucket[i].at, (uintptr_t)p);
			return;
		}
}

__attribute__((noinline)) void samples_forget(struct samples *s, const void *p)
{
	struct sample *bucket = bucket_of(s->all, p);
	for (int i = 0; i < WAYS; i++) {
		uintptr_t gone = (uintptr_t)p; /* another thread may put the next one here */
		__atomic_compare_exchange_n(&bucket[i].at, &gone, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	}
}

int samples_begin(struct samples *s, u64 period)
{
	struct sampled *a = s->all;
	if (!a) {
		a = mmap(0, sizeof *a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (a == MAP_FAILED)
			return 0;
		a->used = 1;
		s->all = a;
	}
	__builtin_memset(a->samples, 0, sizeof a->samples);
	a->begun = now(CLOCK_MONOTONIC);
	a->random = a->begun | 1;
	a->period = period;
	a->pid = (u32)getpid();
	a->taken = 0;
	s->calls = 0;
	s->left = gap(a);
	return 1;
}

void samples_end(struct samples *s)
{
	s->left = INT64_MAX;
	__builtin_memset(s->filter, 0, sizeof s->filter);
}

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

static void count(struct sampled *a, const struct sample *k)
{
	u32 line = k->line;
	a->bytes[line] += k->bytes;
	a->marked[line] += k->is_marked ? k->bytes : 0;
	a->counts[line]++;
	/* What has more than half of the bytes outvotes all others. */
	if (a->callers[line] == k->caller)
		a->votes[line] += (int64_t)k->bytes;
	else if ((a->votes[line] -= (int64_t)k->bytes) < 0) {
		a->callers[line] = k->caller;
		a->votes[line] = -a->votes[line];
	}
}

static char *text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	return at;
}

size_t samples_tell(struct samples *s, unsigned first, int knows_marked, char *out, size_t room)
{
	struct sampled *a = s->all;
	char *end = out;
	__builtin_memset(a->bytes, 0, sizeof a->bytes);
	__builtin_memset(a->marked, 0, sizeof a->marked);
	__builtin_memset(a->counts, 0, sizeof a->counts);
	__builtin_memset(a->callers, 0, sizeof a->callers);
	__builtin_memset(a->votes, 0, sizeof a->votes);
	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct sample *k = a->samples[i]; k < a->samples[i] + WAYS; k++)
			if (k->at && k->line && k->born <= first && (knows_marked || !k->is_marked))
				count(a, k);
	for (u32 line = 1; line <= PYTHON_PLACES; line++) {
		const char *site = a->texts + a->text[line], *caller = a->texts + a->text[a->callers[line]];
		if (!a->counts[line] || (size_t)(end - out) + __builtin_strlen(site) + __builtin_strlen(caller) + 74 > room)
			continue;
		end = number(number(number(end, a->bytes[line]), a->marked[line]), a->counts[line]);
		end = text(end, site);
		if (a->callers[line]) {
			*end++ = '\t';
			end = text(end, caller);
		}
		*end++ = '\n';
	}
	return (size_t)(end - out);
}
