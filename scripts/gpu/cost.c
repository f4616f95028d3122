/* What gpumem adds to a call of the driver. The same pairs of calls are made in turn past
 * the interposer, by the addresses that the driver's file has, and through it, as the
 * dynamic linker finds them: so both are of one process and one moment. Without gpumem the two
 * are the same functions, which tells what the measurement is worth.
 *
 *   cost                          prints a line for each pair, in ns
 *   gpumem run -q -- ./cost       the same, recorded
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int cudaFree(void *);
int cudaMalloc(void **, size_t);
int cudaMallocAsync(void **, size_t, void *);
int cudaFreeAsync(void *, void *);
int cudaDeviceSynchronize(void);

#define APART __attribute__((noinline))
#define ROUNDS 301

typedef int (*call)(uintptr_t, uintptr_t, uintptr_t);
static call alloc, release;

static void check(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "%s: error %d\n", what, rc);
		exit(1);
	}
}

/* exported finds a function in the file of a library without dlsym, which gpumem answers. */
static call exported(struct link_map *m, const char *name)
{
	const ElfW(Sym) *symbols = 0;
	const char *strings = 0;
	const uint32_t *gnu = 0;
	for (const ElfW(Dyn) *d = m->l_ld; d->d_tag != DT_NULL; d++) {
		uintptr_t at = d->d_un.d_ptr < m->l_addr ? d->d_un.d_ptr + m->l_addr : d->d_un.d_ptr;
		if (d->d_tag == DT_SYMTAB)
			symbols = (const void *)at;
		else if (d->d_tag == DT_STRTAB)
			strings = (const void *)at;
		else if (d->d_tag == DT_GNU_HASH)
			gnu = (const void *)at;
	}
	check(!symbols || !strings || !gnu, "the driver's table of symbols");
	const uint32_t *buckets = gnu + 4 + gnu[2] * (sizeof(ElfW(Addr)) / 4), *chain = buckets + gnu[0];
	for (uint32_t b = 0; b < gnu[0]; b++)
		for (uint32_t i = buckets[b]; i >= gnu[1]; i++) {
			if (symbols[i].st_value && !strcmp(strings + symbols[i].st_name, name))
				return (call)(m->l_addr + symbols[i].st_value);
			if (chain[i - gnu[1]] & 1)
				break;
		}
	check(1, name);
	return 0;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

APART void in_order(void)
{
	uintptr_t p = 0;
	check(alloc((uintptr_t)&p, 65536, 0), "cuMemAllocAsync");
	check(release(p, 0, 0), "cuMemFreeAsync");
}

APART void at_once(void)
{
	uintptr_t p = 0;
	check(alloc((uintptr_t)&p, 4u << 20, 0), "cuMemAlloc");
	check(release(p, 0, 0), "cuMemFree");
}

APART void in_order_runtime(void)
{
	void *p;
	check(cudaMallocAsync(&p, 65536, 0), "cudaMallocAsync");
	check(cudaFreeAsync(p, 0), "cudaFreeAsync");
}

APART void at_once_runtime(void)
{
	void *p;
	check(cudaMalloc(&p, 4u << 20), "cudaMalloc");
	check(cudaFree(p), "cudaFree");
}

static double round_of(void (*work)(void), int times)
{
	double from = now();
	for (int i = 0; i < times; i++)
		work();
	return (now() - from) / times;
}

static int less(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;
	return (d > 0) - (d < 0);
}

static double middle(double *of)
{
	qsort(of, ROUNDS, sizeof *of, less);
	return of[ROUNDS / 2];
}

/* compare prints what a pair takes past us and through us, the middle values of rounds that
 * are made in turn, and that of the differences of neighbours. */
static void compare(struct link_map *driver, const char *make, const char *give, void (*work)(void), void (*runtime)(void),
                    int times)
{
	static double past[ROUNDS], through[ROUNDS], more[ROUNDS], whole[ROUNDS];
	call real[2] = {exported(driver, make), exported(driver, give)};
	call found[2] = {(call)dlsym(driver, make), (call)dlsym(driver, give)};
	for (int i = 0; i < ROUNDS; i++) {
		double took[2] = {0};
		whole[i] = round_of(runtime, times);
		check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
		alloc = real[0], release = real[1];
		round_of(work, times); /* the first after a wait is slower */
		for (int turn = 0; turn < 4; turn++) { /* there and back: neither is always first */
			int us = turn == 1 || turn == 2;
			alloc = us ? found[0] : real[0], release = us ? found[1] : real[1];
			took[us] += round_of(work, times) / 2;
		}
		past[i] = took[0], through[i] = took[1];
		more[i] = took[1] - took[0];
	}
	double added = middle(more), all = middle(whole);
	printf("%s and %s: %.0f ns past gpumem, %.0f through it, %+.0f; with the runtime %.0f: %+.1f %%\n", make, give,
	       middle(past), middle(through), added, all, 100 * added / (all - added));
}

int main(void)
{
	check(cudaFree(0), "cudaFree");
	struct link_map *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	check(!driver, "libcuda.so.1");
	compare(driver, "cuMemAllocAsync", "cuMemFreeAsync", in_order, in_order_runtime, 500);
	compare(driver, "cuMemAlloc_v2", "cuMemFree_v2", at_once, at_once_runtime, 10);
	return 0;
}
