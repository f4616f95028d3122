/* A stand-in for HIP's runtime, from its documentation: no AMD device was there to
 * compare it with. Its functions are versioned as those of the real one are. The
 * memory is that of the stand-in for CUDA's driver. */
#define API __attribute__((visibility("hidden")))
#include "libcuda.c"
#define HIP __attribute__((visibility("default")))

/* A call that goes well takes the last error away. */
static __thread int device, error;
static int said(int rc) { return error = rc; }
static struct pool *mine(void) { return &defaults[device & 1]; }

HIP int hipInit(unsigned f) { (void)f; return 0; }
HIP int hipGetDevice(int *d) { *d = device; return said(0); }
HIP int hipSetDevice(int d) { device = d; return said(0); }
HIP int hipMemGetInfo(size_t *left, size_t *all) { return said(device == 1 ? cuMemGetInfo_v2(left, all) : INVALID); }
HIP int hipGetLastError(void) { int was = error; error = 0; return was; }
HIP int hipMalloc(void **p, size_t n) { return said(take((u64 *)p, n)); }
HIP int hipExtMallocWithFlags(void **p, size_t n, unsigned f) { (void)f; return take((u64 *)p, n); }
HIP int hipMallocManaged(void **p, size_t n, unsigned f) { (void)f; return take((u64 *)p, n); }
HIP int hipMallocAsync(void **p, size_t n, void *s) { (void)s; return take_from(mine(), (u64 *)p, n); }
HIP int hipMallocFromPoolAsync(void **p, size_t n, void *pool, void *s) { (void)s; return take_from(pool, (u64 *)p, n); }
HIP int hipFree(void *p) { return drop((u64)p); }
HIP int hipFreeAsync(void *p, void *s) { (void)s; return drop((u64)p); }
HIP int hipHostMalloc(void **p, size_t n, unsigned f) { (void)f; return take((u64 *)p, n); }
HIP int hipHostFree(void *p) { return drop((u64)p); }
HIP int hipMemCreate(u64 *h, size_t n, const void *prop, u64 f) { return cuMemCreate(h, n, prop, f); }
HIP int hipMemRelease(u64 h) { return drop(h); }
HIP int hipMemMap(u64 p, size_t n, size_t off, u64 h, u64 f) { return cuMemMap(p, n, off, h, f); }
HIP int hipMemUnmap(u64 p, size_t n) { return cuMemUnmap(p, n); }
HIP int hipMemAddressReserve(u64 *p, size_t n, size_t a, u64 at, u64 f) { return cuMemAddressReserve(p, n, a, at, f); }
HIP int hipEventCreate(u64 *e) { return handle(e); }
HIP int hipEventCreateWithFlags(u64 *e, unsigned f) { (void)f; return handle(e); }
HIP int hipEventDestroy(u64 e) { return drop(e); }
HIP int hipStreamCreate(u64 *s) { return handle(s); }
HIP int hipStreamDestroy(u64 s) { return drop(s); }
HIP int hipStreamSynchronize(void *s) { (void)s; return wait_for(); }
HIP int hipDeviceSynchronize(void) { return wait_for(); }
HIP int hipGraphInstantiate(u64 *g, void *graph, void *node, char *log, size_t n) { (void)graph, (void)node, (void)log, (void)n; return handle(g); }
HIP int hipGraphExecDestroy(u64 g) { return drop(g); }
HIP int hipModuleLoadData(u64 *m, const void *image) { (void)image; return handle(m); }
HIP int hipModuleUnload(u64 m) { return drop(m); }
HIP int hipDeviceGetDefaultMemPool(u64 *p, int d) { return cuDeviceGetDefaultMemPool(p, d); }
HIP int hipMemPoolCreate(u64 *p, const void *props) { return cuMemPoolCreate(p, props); }
HIP int hipMemPoolDestroy(u64 p) { return cuMemPoolDestroy(p); }
HIP int hipMemPoolTrimTo(u64 p, size_t keep) { return cuMemPoolTrimTo(p, keep); }
HIP int hipMemPoolGetAttribute(struct pool *p, int which, u64 *v) { return cuMemPoolGetAttribute(p, which, v); }
HIP int hipMemPoolSetAttribute(struct pool *p, int which, const u64 *v) { return cuMemPoolSetAttribute(p, which, v); }

struct extent { size_t width, height, depth; };
struct pitched { u64 ptr; size_t pitch, width, height; };
HIP int hipMalloc3D(struct pitched *p, struct extent n)
{
	p->pitch = (n.width + 511) & ~511ull, p->width = n.width, p->height = n.height;
	return take(&p->ptr, p->pitch * n.height * n.depth);
}
HIP int hipMallocPitch(u64 *p, size_t *pitch, size_t w, size_t h) { return take(p, (*pitch = (w + 511) & ~511ull) * h); }
HIP int hipArrayCreate(u64 *a, const u64 *d) { return cuArrayCreate_v2(a, d); }
HIP int hipArray3DCreate(u64 *a, const u64 *d) { (void)d; return take(a, 1); }
HIP int hipMallocArray(u64 *a, const int *desc, size_t w, size_t h, unsigned f) { (void)f; return take(a, desc[0] / 8 * w * h); }
HIP int hipMalloc3DArray(u64 *a, const int *desc, struct extent n, unsigned f)
{
	return f == 7 ? take(a, desc[0] / 8 * n.width * n.height * n.depth) : INVALID;
}
HIP int hipArrayDestroy(u64 a) { return drop(a); }
HIP int hipFreeArray(u64 a) { return drop(a); }
HIP int hipMipmappedArrayCreate(u64 *a, const u64 *d, unsigned levels) { (void)d, (void)levels; return take(a, 1); }
HIP int hipMallocMipmappedArray(u64 *a, const int *desc, struct extent n, unsigned levels, unsigned f)
{
	(void)desc, (void)n;
	return levels == 2 && f == 7 ? take(a, 1) : INVALID;
}
HIP int hipMipmappedArrayDestroy(u64 a) { return drop(a); }
HIP int hipFreeMipmappedArray(u64 a) { return drop(a); }
HIP int hipIpcOpenMemHandle(u64 *p, struct ipc h, unsigned f) { return cuIpcOpenMemHandle_v2(p, h, f); }
HIP int hipIpcCloseMemHandle(u64 p) { return drop(p); }
HIP int hipMemImportFromShareableHandle(u64 *h, void *os, int type) { (void)os, (void)type; return handle(h); }
HIP int hipMemRetainAllocationHandle(u64 *h, u64 address) { (void)address; return handle(h); }
HIP int hipModuleLoadFatBinary(u64 *m, const void *image) { (void)image; return handle(m); }
HIP int hipLibraryLoadData(u64 *l, const void *code, void *o, void **ov, unsigned n, void *lo, void **lov, unsigned ln)
{
	(void)code, (void)o, (void)ov, (void)n, (void)lo, (void)lov;
	return ln == 7 ? handle(l) : INVALID;
}
HIP int hipLibraryUnload(u64 l) { return drop(l); }
HIP int hipStreamSynchronize_spt(void *s) { (void)s; return wait_for(); }
HIP int hipDeviceReset(void) { return 0; }
HIP int hipGetProcAddress(const char *name, void **f, int version, u64 flags, int *status)
{
	(void)version, (void)flags;
	*f = !strcmp(name, "hipMalloc") ? (void *)hipMalloc : !strcmp(name, "hipFree") ? (void *)hipFree : 0;
	if (status)
		*status = *f ? 0 : 1;
	return *f ? 0 : INVALID;
}
