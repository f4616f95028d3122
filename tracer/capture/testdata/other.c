/* Another interposer of the same functions, as others ship them: it limits or
 * counts. Its count is printed at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void *(*lookup)(void *, const char *);
static int seen;

static lookup next(void)
{
	static lookup f;
	if (!f)
		f = (lookup)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	return f;
}

static int (*real_alloc)(uint64_t *, size_t);

__attribute__((visibility("default"))) int cuMemAlloc_v2(uint64_t *p, size_t n)
{
	if (!real_alloc)
		real_alloc = (int (*)(uint64_t *, size_t))next()(RTLD_NEXT, "cuMemAlloc_v2");
	seen++;
	return real_alloc(p, n);
}

__attribute__((visibility("default"))) void *other_dlsym(void *h, const char *name)
{
	if (h != RTLD_NEXT && name && !strcmp(name, "cuMemAlloc_v2")) {
		void *f = next()(h, name);
		if (f && f != (void *)cuMemAlloc_v2)
			real_alloc = (int (*)(uint64_t *, size_t))f;
		return f ? (void *)cuMemAlloc_v2 : 0;
	}
	return next()(h, name);
}
__asm__(".symver other_dlsym,dlsym@@GLIBC_2.34");

static __attribute__((destructor)) void report(void)
{
	if (seen)
		fprintf(stderr, "other saw %d\n", seen);
}
