/* A stand-in for the CUDA driver: the functions that the tests call, with
 * memory that is only booked. Linked -Bsymbolic, as the real one is.
 *
 * STUB_LIMIT=N       device bytes that there are (else 1 TiB)
 * STUB_FAIL_FREE=1   cuMemFree frees nothing and fails
 * STUB_INDIRECT=1    cuGetProcAddress returns other addresses than are exported
 * STUB_GENERIC=1     cuGetProcAddress has every function: the rest does nothing
 * CUDA_INJECTION64_PATH=FILE  cuInit loads it
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef API
#define API __attribute__((visibility("default")))
#endif
typedef int CUresult;
typedef uint64_t u64;
enum { INVALID = 1, NO_MEMORY = 2, NOT_FOUND = 500 };

struct pool {
	u64 used, reserved, threshold;
};
struct block {
	u64 magic, size, refs;
	struct pool *pool;
};
#define MAGIC 0x57554253u

static u64 used;
#ifdef NO_TLS /* for static programs, whose loader gives libraries no thread-local memory */
static u64 current_ctx;
#undef errno
static int errno;
#else
static __thread u64 current_ctx;
#endif
static char contexts[16];

static u64 limit(void)
{
	static u64 value;
	if (!value) {
		const char *text = getenv("STUB_LIMIT");
		value = text ? strtoull(text, 0, 10) : 1ull << 40;
	}
	return value;
}

static CUresult take(u64 *out, u64 size)
{
	struct block *b;
	if (!out || !size)
		return INVALID;
	if (__atomic_add_fetch(&used, size, __ATOMIC_RELAXED) > limit()) {
		__atomic_sub_fetch(&used, size, __ATOMIC_RELAXED);
		return NO_MEMORY;
	}
	b = malloc(sizeof *b);
	b->magic = MAGIC;
	b->size = size;
	b->refs = 1;
	b->pool = 0;
	*out = (u64)b;
	errno = 77; /* the real driver's system calls leave something, too */
	return 0;
}

static CUresult drop(u64 p)
{
	struct block *b = (struct block *)p;
	if (!p)
		return 0;
	if (p < 4096 || p & 7 || b->magic != MAGIC || getenv("STUB_FAIL_FREE"))
		return INVALID;
	if (--b->refs)
		return 0;
	b->magic = 0;
	if (b->pool)
		__atomic_sub_fetch(&b->pool->used, b->size, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&used, b->size, __ATOMIC_RELAXED);
	free(b);
	return 0;
}

/* Booked without the checks: what the benchmark calls would else be malloc. */
static CUresult handle(u64 *out) { return take(out, 1); }


/* Pools of stream-ordered memory: they hand out multiples of 512 bytes, take 2 MiB of
 * the device at a time, and keep what is above their threshold until the program
 * synchronizes. */
static struct pool defaults[2];
static u64 pools[64];

static CUresult take_from(struct pool *pool, u64 *out, u64 size)
{
	CUresult rc;
	size = (size + 511) & ~511ull;
	if ((rc = take(out, size)))
		return rc;
	((struct block *)*out)->pool = pool;
	if (__atomic_add_fetch(&pool->used, size, __ATOMIC_RELAXED) > pool->reserved)
		pool->reserved = (pool->used + (2u << 20) - 1) & ~((2ull << 20) - 1);
	return 0;
}

static void trim(struct pool *pool, u64 keep)
{
	u64 least = (pool->used + (2u << 20) - 1) & ~((2ull << 20) - 1);
	if (pool->reserved > keep)
		pool->reserved = least > keep ? least : keep;
}

static CUresult wait_for(void)
{
	for (int i = 0; i < 2; i++)
		trim(&defaults[i], defaults[i].threshold);
	for (int i = 0; i < 64; i++)
		if (pools[i])
			trim((struct pool *)pools[i], ((struct pool *)pools[i])->threshold); /* never freed */
	return 0;
}

static struct pool *current_pool(void)
{
	u64 n = current_ctx - (u64)contexts;
	return &defaults[n < 2 ? n : 0];
}

/* As the real one does, cuInit takes in the library of a profiler. */
API CUresult cuInit(unsigned flags)
{
#ifndef NO_TLS
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	int (*begin)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
	if (begin && begin() != 1)
		return INVALID;
#endif
	return flags ? INVALID : 0;
}

API CUresult cuDriverGetVersion(int *v) { *v = 12090; return 0; }
API CUresult cuDeviceGetCount(int *n) { *n = 2; return 0; }
API CUresult cuDeviceGet(int *d, int i) { *d = i; return 0; }
API CUresult cuDeviceGetName(char *name, int n, int d) { (void)d; if (n > 4) strcpy(name, "stub"); return 0; }
API CUresult cuDeviceTotalMem_v2(u64 *n, int d) { (void)d; *n = limit(); return 0; }
/* Compute capability 9.0; the runtime wants something for all others. */
API CUresult cuDeviceGetAttribute(int *v, int attribute, int d) { (void)d; *v = attribute == 75 ? 9 : attribute == 76 ? 0 : 1; return 0; }
API CUresult cuMemGetInfo_v2(u64 *left, u64 *all)
{
	u64 now = __atomic_load_n(&used, __ATOMIC_RELAXED);
	*all = limit();
	*left = now < *all ? *all - now : 0;
	return 0;
}
API CUresult cuCtxGetCurrent(u64 *c) { *c = current_ctx; return 0; }
API CUresult cuCtxSetCurrent(u64 c) { current_ctx = c; return 0; }
API CUresult cuCtxGetDevice(int *d)
{
	u64 n = current_ctx - (u64)contexts; /* a primary context's address, else a block of its device's size */
	if (!current_ctx)
		return 201;
	*d = (int)(n < sizeof contexts ? n : ((struct block *)current_ctx)->size - 1);
	return 0;
}
API CUresult cuDevicePrimaryCtxRetain(u64 *c, int d) { *c = (u64)&contexts[d]; return 0; }
API CUresult cuDevicePrimaryCtxRelease_v2(int d) { (void)d; return 0; }
API CUresult cuDevicePrimaryCtxReset_v2(int d) { (void)d; return 0; }
API CUresult cuDevicePrimaryCtxRelease(int d) { return cuDevicePrimaryCtxRelease_v2(d); }
API CUresult cuDevicePrimaryCtxReset(int d) { return cuDevicePrimaryCtxReset_v2(d); }
API CUresult cuCtxCreate_v2(u64 *c, unsigned f, int d) { (void)f; CUresult r = take(c, 1 + d); current_ctx = *c; return r; }
API CUresult cuCtxDestroy_v2(u64 c) { if (current_ctx == c) current_ctx = 0; return drop(c); }

API CUresult cuMemAlloc(unsigned *p, unsigned n) { (void)p, (void)n; return 999; } /* as of CUDA 2 */
API CUresult cuMemAlloc_v2(u64 *p, size_t n) { return take(p, n); }
API CUresult cuMemAllocPitch_v2(u64 *p, size_t *pitch, size_t w, size_t h, unsigned e) { (void)e; *pitch = (w + 511) & ~511ull; return take(p, *pitch * h); }
API CUresult cuMemAllocManaged(u64 *p, size_t n, unsigned f) { (void)f; return take(p, n); }
API CUresult cuMemAllocAsync(u64 *p, size_t n, void *s) { (void)s; return take_from(current_pool(), p, n); }
API CUresult cuMemAllocAsync_ptsz(u64 *p, size_t n, void *s) { (void)s; return take_from(current_pool(), p, n); }
API CUresult cuMemAllocFromPoolAsync(u64 *p, size_t n, void *pool, void *s) { (void)s; return take_from(pool, p, n); }
API CUresult cuMemFree_v2(u64 p) { return drop(p); }
API CUresult cuMemFreeAsync(u64 p, void *s) { (void)s; return drop(p); }
API CUresult cuMemFreeAsync_ptsz(u64 p, void *s) { (void)s; return drop(p); }
API CUresult cuMemHostAlloc(void **p, size_t n, unsigned f) { (void)f; return take((u64 *)p, n); }
/* The driver calls itself: that must count once. */
API CUresult cuMemAllocHost_v2(void **p, size_t n) { return cuMemHostAlloc(p, n, 0); }
API CUresult cuMemFreeHost(void *p) { return drop((u64)p); }
API CUresult cuMemHostRegister_v2(void *p, size_t n, unsigned f) { (void)n, (void)f; return p ? 0 : INVALID; }
API CUresult cuMemHostUnregister(void *p) { return p ? 0 : INVALID; }
API CUresult cuArrayCreate_v2(u64 *a, const u64 *d) { return take(a, d[0] * (d[1] ? d[1] : 1) * 4); }
API CUresult cuArrayDestroy(u64 a) { return drop(a); }

API CUresult cuMemCreate(u64 *h, size_t n, const void *prop, u64 f) { (void)prop, (void)f; return take(h, n); }
API CUresult cuMemRelease(u64 h) { return drop(h); }
static struct { u64 at, size, handle; } maps[4096];
API CUresult cuMemAddressReserve(u64 *p, size_t n, size_t align, u64 at, u64 f)
{
	static u64 next = 0x500000000000;
	(void)align, (void)at, (void)f;
	*p = __atomic_fetch_add(&next, n, __ATOMIC_RELAXED);
	return 0;
}
API CUresult cuMemMap(u64 p, size_t n, size_t off, u64 h, u64 f)
{
	(void)off, (void)f;
	for (int i = 0; i < 4096; i++)
		if (!maps[i].size) {
			maps[i].at = p, maps[i].size = n, maps[i].handle = h;
			((struct block *)h)->refs++;
			return 0;
		}
	return INVALID;
}
API CUresult cuMemUnmap(u64 p, size_t n)
{
	int found = 0;
	for (int i = 0; i < 4096; i++)
		if (maps[i].size && maps[i].at >= p && maps[i].at + maps[i].size <= p + n) {
			u64 h = maps[i].handle;
			maps[i].size = 0;
			found = 1;
			drop(h);
		}
	return found ? 0 : INVALID;
}

API CUresult cuMemPoolCreate(u64 *p, const void *props)
{
	(void)props;
	*p = (u64)calloc(1, sizeof(struct pool));
	for (int i = 0; i < 64; i++) {
		u64 none = 0;
		if (__atomic_compare_exchange_n(&pools[i], &none, *p, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return 0;
	}
	return NO_MEMORY;
}
API CUresult cuMemPoolDestroy(u64 p)
{
	for (int i = 0; i < 64; i++)
		if (pools[i] == p)
			return (pools[i] = 0);
	return INVALID;
}
API CUresult cuMemPoolTrimTo(u64 p, size_t keep) { trim((struct pool *)p, keep); return 0; }
API CUresult cuMemPoolGetAttribute(struct pool *p, int which, u64 *v)
{
	for (int i = 0; i <= 64; i++) {
		if (i == 64)
			abort(); /* a pool that is gone: the real driver reads freed memory */
		if (p == &defaults[0] || p == &defaults[1] || pools[i] == (u64)p)
			break;
	}
	*v = which == 4 ? p->threshold : which == 5 ? p->reserved : which == 7 ? p->used : 0;
	return which == 4 || which == 5 || which == 7 ? 0 : INVALID;
}
API CUresult cuMemPoolSetAttribute(struct pool *p, int which, const u64 *v) { if (which == 4) p->threshold = *v; return which == 4 ? 0 : INVALID; }
API CUresult cuDeviceGetDefaultMemPool(u64 *p, int d) { *p = (u64)&defaults[d & 1]; return 0; }
API CUresult cuDeviceGetMemPool(u64 *p, int d) { return cuDeviceGetDefaultMemPool(p, d); }
API CUresult cuStreamSynchronize(void *s) { (void)s; return wait_for(); }
API CUresult cuStreamSynchronize_ptsz(void *s) { (void)s; return wait_for(); }
API CUresult cuCtxSynchronize(void) { return wait_for(); }
API CUresult cuEventSynchronize(void *e) { (void)e; return wait_for(); }
API CUresult cuEventCreate(u64 *e, unsigned f) { (void)f; return handle(e); }
API CUresult cuEventDestroy_v2(u64 e) { return drop(e); }
API CUresult cuStreamCreate(u64 *s, unsigned f) { (void)f; return handle(s); }
API CUresult cuStreamCreateWithPriority(u64 *s, unsigned f, int p) { (void)f, (void)p; return handle(s); }
API CUresult cuStreamDestroy_v2(u64 s) { return drop(s); }
API CUresult cuGraphInstantiateWithFlags(u64 *g, void *graph, u64 f) { (void)graph, (void)f; return handle(g); }
API CUresult cuGraphExecDestroy(u64 g) { return drop(g); }
API CUresult cuModuleLoadData(u64 *m, const void *image) { (void)image; return handle(m); }
API CUresult cuModuleUnload(u64 m) { return drop(m); }
API CUresult cuLibraryLoadData(u64 *l, const void *code, void *a, void *b, unsigned n, void *c, void *d, unsigned m)
{
	(void)code, (void)a, (void)b, (void)c, (void)d;
	return n == 5 && m == 8 ? handle(l) : INVALID; /* the last come over the stack */
}
API CUresult cuLibraryUnload(u64 l) { return drop(l); }
struct ipc { char reserved[64]; };
API CUresult cuIpcOpenMemHandle_v2(u64 *p, struct ipc h, unsigned f) { return h.reserved[63] == 'z' && f == 1 ? handle(p) : INVALID; }
API CUresult cuIpcCloseMemHandle(u64 p) { return drop(p); }

/* Other addresses than the exported ones. */
static CUresult hidden_alloc(u64 *p, size_t n) { return cuMemAlloc_v2(p, n); }
static CUresult hidden_free(u64 p) { return cuMemFree_v2(p); }

API CUresult cuGetProcAddress(const char *name, void **out, int version, u64 flags);
API CUresult cuGetProcAddress_v2(const char *name, void **out, int version, u64 flags, int *status);

/* What a call that has no meaning here answers with. */
static CUresult nothing(void) { return 0; }

API CUresult cuGetExportTable(const void **table, const void *uuid)
{
	static void *functions[256];
	(void)uuid;
	functions[0] = (void *)sizeof functions;
	for (int i = 1; i < 256; i++)
		functions[i] = (void *)nothing;
	*table = functions;
	return 0;
}

static void *find(const char *name, int version, u64 flags)
{
	static const struct { const char *name; void *f; int ptsz; } table[] = {
#define F(base, f) {base, (void *)f, 0}
		F("cuInit", cuInit), F("cuDriverGetVersion", cuDriverGetVersion), F("cuDeviceGetCount", cuDeviceGetCount),
		F("cuDeviceGet", cuDeviceGet), F("cuDeviceGetName", cuDeviceGetName), F("cuDeviceGetAttribute", cuDeviceGetAttribute), F("cuDeviceTotalMem", cuDeviceTotalMem_v2),
		F("cuCtxGetCurrent", cuCtxGetCurrent), F("cuCtxSetCurrent", cuCtxSetCurrent), F("cuCtxGetDevice", cuCtxGetDevice),
		F("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain), F("cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease_v2),
		F("cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset_v2), F("cuCtxCreate", cuCtxCreate_v2), F("cuCtxDestroy", cuCtxDestroy_v2),
		F("cuMemAllocPitch", cuMemAllocPitch_v2), F("cuMemAllocManaged", cuMemAllocManaged),
		F("cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync),
		F("cuMemAllocAsync", cuMemAllocAsync), F("cuMemFreeAsync", cuMemFreeAsync),
		{"cuMemAllocAsync", (void *)cuMemAllocAsync_ptsz, 1}, {"cuMemFreeAsync", (void *)cuMemFreeAsync_ptsz, 1},
		F("cuMemHostAlloc", cuMemHostAlloc), F("cuMemAllocHost", cuMemAllocHost_v2), F("cuMemFreeHost", cuMemFreeHost),
		F("cuMemHostRegister", cuMemHostRegister_v2), F("cuMemHostUnregister", cuMemHostUnregister),
		F("cuArrayCreate", cuArrayCreate_v2), F("cuArrayDestroy", cuArrayDestroy), F("cuMemCreate", cuMemCreate),
		F("cuMemRelease", cuMemRelease), F("cuMemAddressReserve", cuMemAddressReserve), F("cuMemMap", cuMemMap), F("cuMemUnmap", cuMemUnmap),
		F("cuMemPoolCreate", cuMemPoolCreate), F("cuMemPoolTrimTo", cuMemPoolTrimTo), F("cuMemPoolGetAttribute", cuMemPoolGetAttribute), F("cuMemPoolSetAttribute", cuMemPoolSetAttribute),
		F("cuDeviceGetDefaultMemPool", cuDeviceGetDefaultMemPool), F("cuStreamSynchronize", cuStreamSynchronize), F("cuCtxSynchronize", cuCtxSynchronize), F("cuEventSynchronize", cuEventSynchronize),
		{"cuStreamSynchronize", (void *)cuStreamSynchronize_ptsz, 1}, F("cuMemPoolDestroy", cuMemPoolDestroy), F("cuMemPoolDestroy", cuMemPoolDestroy), F("cuEventCreate", cuEventCreate),
		F("cuEventDestroy", cuEventDestroy_v2), F("cuStreamCreate", cuStreamCreate), F("cuStreamCreateWithPriority", cuStreamCreateWithPriority),
		F("cuStreamDestroy", cuStreamDestroy_v2), F("cuGraphInstantiate", cuGraphInstantiateWithFlags), F("cuGraphExecDestroy", cuGraphExecDestroy),
		F("cuModuleLoadData", cuModuleLoadData), F("cuModuleUnload", cuModuleUnload), F("cuLibraryLoadData", cuLibraryLoadData),
		F("cuLibraryUnload", cuLibraryUnload), F("cuIpcOpenMemHandle", cuIpcOpenMemHandle_v2), F("cuIpcCloseMemHandle", cuIpcCloseMemHandle),
		F("cuGetExportTable", cuGetExportTable),
	};
	int indirect = getenv("STUB_INDIRECT") != 0;
	/* Each function by the version that brought it in. */
	if (version < 11000 && !strcmp(name, "cuDevicePrimaryCtxRelease"))
		return (void *)cuDevicePrimaryCtxRelease;
	if (version < 11000 && !strcmp(name, "cuDevicePrimaryCtxReset"))
		return (void *)cuDevicePrimaryCtxReset;
	if (!strcmp(name, "cuGetProcAddress"))
		return version >= 12000 ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
	if (!strcmp(name, "cuMemAlloc"))
		return version < 3020 ? (void *)cuMemAlloc : indirect ? (void *)hidden_alloc : (void *)cuMemAlloc_v2;
	if (!strcmp(name, "cuMemFree"))
		return indirect ? (void *)hidden_free : (void *)cuMemFree_v2;
	for (int pass = flags & 2 ? 1 : 0; pass >= 0; pass--)
		for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
			if (table[i].ptsz == pass && !strcmp(table[i].name, name))
				return table[i].f;
	return getenv("STUB_GENERIC") ? (void *)nothing : 0;
}

CUresult cuGetProcAddress(const char *name, void **out, int version, u64 flags)
{
	*out = find(name, version, flags);
	return *out ? 0 : NOT_FOUND;
}

CUresult cuGetProcAddress_v2(const char *name, void **out, int version, u64 flags, int *status)
{
	*out = find(name, version, flags);
	if (status)
		*status = *out ? 0 : 1;
	return *out ? 0 : NOT_FOUND;
}
