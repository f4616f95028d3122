/* What each hooked function does: it calls the real one, and records what that did. */
#define _GNU_SOURCE

#include "bind.h"
#include "event.h"
#include "hipleft.h"
#include "pools.h"

#include "hip.h"

/* place fills in context and device of the calling thread. */
static inline void place(struct event *e, int hip)
{
	u64 ctx = 0, device = 0;
	fn6 current = load(&ctx_current);
	e->device = -1;
	if (hip) { /* has no contexts */
		fn6 which = load(&hip_device);
		e->device = which && which((u64)&device, 0, 0, 0, 0, 0) == 0 ? (int32_t)device : -1;
		return;
	}
	if (!current || current((u64)&ctx, 0, 0, 0, 0, 0) != 0 || !ctx)
		return;
	if (ctx != thread.ctx) {
		thread.device = ctx_device && ctx_device((u64)&device, 0, 0, 0, 0, 0) == 0 ? (int32_t)device : -1;
		thread.ctx = ctx;
	}
	e->aux = ctx;
	e->device = thread.device;
}

#define BETWEEN_REFUSALS 10000000u /* ns */

/* before is what a call of HIP's is told by that is asked before it: what is asked of HIP
 * after a call that failed takes the error away that the program may ask for (hipleft.c). */
static inline struct event before(int hip)
{
	struct event at = {.device = -1};
	if (hip && thread.depth == 0)
		place(&at, 1);
	return at;
}

/* ask_free notes what the device has left when it refuses memory, plus 1, in the place
 * of an address, of which there is none. Of HIP a thread asks, now and then: a program
 * may try without end. */
static __attribute__((noinline, cold)) void ask_free(struct event *v, int hip)
{
	static u64 asked;
	u64 left = 0, total = 0, time;
	int saved = errno;
	if (v->kind > K_MIPMAP)
		return;
	if (!hip) {
		if (load(&ctx_current) && ctx_memory && ctx_memory((u64)&left, (u64)&total, 0, 0, 0, 0) == 0)
			v->ptr = left + 1;
		return;
	}
	time = now(CLOCK_MONOTONIC);
	left = load(&asked);
	if ((left && time - left < BETWEEN_REFUSALS) ||
	    !__atomic_compare_exchange_n(&asked, &left, time, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return;
	v->ptr = hip_left(hip_choose, hip_memory, v->device);
	errno = saved;
}

#define FROM ((struct place){__builtin_frame_address(0), (uintptr_t)__builtin_dwarf_cfa()})
#define ARGS u64 a, u64 b, u64 c, u64 d, u64 e, u64 f
#define PASS a, b, c, d, e, f

/* Where most functions put what they made. */
#define OUT (rc == 0 && a ? *(u64 *)a : 0)

/* Every hooked function with up to six integer arguments is called with six:
 * the callee ignores the registers it has no parameter for. always_: failures
 * are recorded, too. */
#define CREATES(name, kind_, ptr_, size_, always_, adjust_) \
	CUresult name(ARGS) \
	{ \
		fn6 real = target(S_##name); \
		CUresult rc; \
		if (!real) \
			return STUB; \
		struct event at = before(of_hip(S_##name)); \
		thread.depth++; \
		rc = real(PASS); \
		thread.depth--; \
		if (thread.depth == 0 && (rc == 0 || always_)) { \
			struct event v = {.kind = kind_, .rc = rc, .ptr = ptr_, .size = size_, .device = at.device}; \
			u32 noted; \
			if (!of_hip(S_##name)) \
				place(&v, 0); \
			adjust_; \
			if (__builtin_expect(rc == NO_MEMORY, 0)) \
				ask_free(&v, of_hip(S_##name)); \
			noted = note(&v, FROM); \
			if (OF_POOLS(kind_) && rc == 0 && noted) \
				after(&v, of_hip(S_##name), FROM); \
		} \
		return rc; \
	}

#define DESTROYS(name, kind_, size_) \
	CUresult name(ARGS) \
	{ \
		fn6 real = target(S_##name); \
		CUresult rc; \
		struct event v = {.kind = kind_, .ptr = a, .size = size_, .device = -1, .takes = 1}; \
		if (!real) \
			return STUB; \
		u32 noted = thread.depth == 0 ? note(&v, FROM) : 0; \
		if (ENDS_POOLS(kind_)) \
			forget_pools(kind_ == K_POOL_DESTROY ? a : 0); \
		thread.depth++; \
		rc = real(PASS); \
		thread.depth--; \
		if (rc && thread.depth == 0) { \
			v.flags = SLOT_UNDO; \
			note(&v, FROM); \
		} \
		if (OF_POOLS(kind_) && rc == 0 && noted) \
			after(&v, of_hip(S_##name), FROM); \
		return rc; \
	}

/* A pool may give memory back when the program waits for the device. */
#define WAITS(name) \
	CUresult name(ARGS) \
	{ \
		fn6 real = target(S_##name); \
		CUresult rc; \
		if (!real) \
			return STUB; \
		thread.depth++; \
		rc = real(PASS); \
		thread.depth--; \
		if (rc == 0) \
			look_at_pools(BETWEEN_SYNCS, FROM); \
		return rc; \
	}

#define NOTHING ((void)0)

/* CUDA_ARRAY_DESCRIPTOR: width, height (size_t), format, channels (int);
 * CUDA_ARRAY3D_DESCRIPTOR: width, height, depth, format, channels, flags. */
static u64 format_size(u32 format)
{
	switch (format) {
	case 0x01: case 0x08: return 1;
	case 0x02: case 0x09: case 0x10: return 2;
	case 0x03: case 0x0a: case 0x20: return 4;
	}
	return 0; /* a compressed or planar format: not known here */
}

/* levels_size is how many elements an array has, and its smaller levels with it. */
static u64 levels_size(struct hip_extent n, u64 levels)
{
	u64 w = n.width, h = n.height, d = n.depth, total = 0;
	for (u64 level = 0; level < levels && level < 64; level++) {
		total += w * (h ? h : 1) * (d ? d : 1);
		w = w > 1 ? w / 2 : w;
		h = h > 1 ? h / 2 : h;
		d = d > 1 ? d / 2 : d;
	}
	return total;
}

static u64 array_size(u64 desc, int dims, u64 levels)
{
	const u64 *extent = (const u64 *)desc;
	const u32 *format;
	if (!desc)
		return 0;
	format = (const u32 *)(extent + dims);
	return levels_size((struct hip_extent){extent[0], extent[1], dims == 3 ? extent[2] : 0}, levels) *
	       format_size(format[0]) * format[1];
}

/* CUmemAllocationProp: type, requestedHandleTypes, location {type, id}. An id
 * is a device's only when the location is one (type 1). */
static void place_created(struct event *v, u64 prop)
{
	const u32 *p = (const u32 *)prop;
	if (!p)
		return;
	v->device = p[2] == 1 ? (int)p[3] : -1;
	if (p[2] != 1)
		v->flags |= SLOT_HOSTMEM;
}

CREATES(cuInit, K_INIT, 0, a, 0, NOTHING)
CREATES(cuMemAlloc_v2, K_ALLOC, OUT, b, 1, NOTHING)
CREATES(cuMemAllocPitch_v2, K_ALLOC, OUT, (rc == 0 && b ? *(u64 *)b : c) * d, 1, NOTHING)
CREATES(cuMemAllocManaged, K_MANAGED, OUT, b, 1, NOTHING)
CREATES(cuMemAllocAsync, K_ASYNC, OUT, b, 1, NOTHING)
CREATES(cuMemAllocAsync_ptsz, K_ASYNC, OUT, b, 1, NOTHING)
CREATES(cuMemAllocFromPoolAsync, K_ASYNC, OUT, b, 1, v.pool = c)
CREATES(cuMemAllocFromPoolAsync_ptsz, K_ASYNC, OUT, b, 1, v.pool = c)
CREATES(cuMemCreate, K_CREATE, OUT, b, 1, place_created(&v, c))
CREATES(cuArrayCreate_v2, K_ARRAY, OUT, array_size(b, 2, 1), 1, v.flags = v.size ? 0 : SLOT_UNSIZED)
CREATES(cuArray3DCreate_v2, K_ARRAY, OUT, array_size(b, 3, 1), 1, v.flags = v.size ? 0 : SLOT_UNSIZED)
CREATES(cuMipmappedArrayCreate, K_MIPMAP, OUT, array_size(b, 3, (u32)c), 1, v.flags = v.size ? 0 : SLOT_UNSIZED)
CREATES(cuMemHostAlloc, K_HOST, OUT, b, 1, NOTHING)
CREATES(cuMemAllocHost, K_HOST, OUT, b, 1, NOTHING)
CREATES(cuMemAllocHost_v2, K_HOST, OUT, b, 1, NOTHING)
CREATES(cuMemHostRegister, K_REGISTER, a, b, 1, NOTHING)
CREATES(cuMemHostRegister_v2, K_REGISTER, a, b, 1, NOTHING)
CREATES(cuMemImportFromShareableHandle, K_IMPORT, OUT, 0, 0, v.flags = SLOT_UNSIZED)
CREATES(cuMemRetainAllocationHandle, K_RETAIN_HANDLE, OUT, 0, 0, NOTHING)
CREATES(cuMemMap, K_MAP, a, b, 0, v.aux = d)
CREATES(cuMemPoolCreate, K_POOL, OUT, 0, 0, place_created(&v, b); v.flags = 0)
CREATES(cuMemPoolTrimTo, K_POOL_TRIM, a, b, 0, NOTHING)
CREATES(cuCtxCreate, K_CTX, OUT, 0, 0, NOTHING)
CREATES(cuCtxCreate_v2, K_CTX, OUT, 0, 0, NOTHING)
CREATES(cuCtxCreate_v3, K_CTX, OUT, 0, 0, NOTHING)
CREATES(cuCtxCreate_v4, K_CTX, OUT, 0, 0, NOTHING)
CREATES(cuDevicePrimaryCtxRetain, K_PRIMARY, OUT, 0, 0, v.device = (int)b)
CREATES(cuEventCreate, K_EVENT, OUT, 0, 0, NOTHING)
CREATES(cuStreamCreate, K_STREAM, OUT, 0, 0, NOTHING)
CREATES(cuStreamCreateWithPriority, K_STREAM, OUT, 0, 0, NOTHING)
CREATES(cuGraphInstantiate, K_GRAPH, OUT, 0, 0, NOTHING)
CREATES(cuGraphInstantiate_v2, K_GRAPH, OUT, 0, 0, NOTHING)
CREATES(cuGraphInstantiateWithFlags, K_GRAPH, OUT, 0, 0, NOTHING)
CREATES(cuGraphInstantiateWithParams, K_GRAPH, OUT, 0, 0, NOTHING)
CREATES(cuGraphInstantiateWithParams_ptsz, K_GRAPH, OUT, 0, 0, NOTHING)
CREATES(cuModuleLoad, K_MODULE, OUT, 0, 0, NOTHING)
CREATES(cuModuleLoadData, K_MODULE, OUT, 0, 0, NOTHING)
CREATES(cuModuleLoadDataEx, K_MODULE, OUT, 0, 0, NOTHING)
CREATES(cuModuleLoadFatBinary, K_MODULE, OUT, 0, 0, NOTHING)

DESTROYS(cuMemFree_v2, K_FREE, 0)
DESTROYS(cuMemFreeAsync, K_FREE_ASYNC, 0)
DESTROYS(cuMemFreeAsync_ptsz, K_FREE_ASYNC, 0)
DESTROYS(cuMemRelease, K_RELEASE, 0)
DESTROYS(cuArrayDestroy, K_ARRAY_DESTROY, 0)
DESTROYS(cuMipmappedArrayDestroy, K_MIPMAP_DESTROY, 0)
DESTROYS(cuMemFreeHost, K_FREE_HOST, 0)
DESTROYS(cuMemHostUnregister, K_UNREGISTER, 0)
DESTROYS(cuIpcCloseMemHandle, K_IPC_CLOSE, 0)
DESTROYS(cuMemUnmap, K_UNMAP, b)
DESTROYS(cuMemPoolDestroy, K_POOL_DESTROY, 0)
DESTROYS(cuCtxDestroy, K_CTX_DESTROY, 0)
DESTROYS(cuCtxDestroy_v2, K_CTX_DESTROY, 0)
DESTROYS(cuDevicePrimaryCtxRelease, K_PRIMARY_RELEASE, 0)
DESTROYS(cuDevicePrimaryCtxRelease_v2, K_PRIMARY_RELEASE, 0)
DESTROYS(cuDevicePrimaryCtxReset, K_PRIMARY_RESET, 0)
DESTROYS(cuDevicePrimaryCtxReset_v2, K_PRIMARY_RESET, 0)
DESTROYS(cuEventDestroy, K_EVENT_DESTROY, 0)
DESTROYS(cuEventDestroy_v2, K_EVENT_DESTROY, 0)
DESTROYS(cuStreamDestroy, K_STREAM_DESTROY, 0)
DESTROYS(cuStreamDestroy_v2, K_STREAM_DESTROY, 0)
DESTROYS(cuGraphExecDestroy, K_GRAPH_DESTROY, 0)
DESTROYS(cuModuleUnload, K_MODULE_UNLOAD, 0)
DESTROYS(cuLibraryUnload, K_LIBRARY_UNLOAD, 0)

WAITS(cuStreamSynchronize)
WAITS(cuStreamSynchronize_ptsz)
WAITS(cuEventSynchronize)
WAITS(cuCtxSynchronize)
WAITS(cuCtxSynchronize_v2)

HIP_WRAPPERS
HIP_SPECIAL

/* Those that six integers do not cover. */

typedef CUresult (*fn8)(u64 *, u64, u64, u64, u64, u64, u64, u64);
#define LOADS(name, hip) \
	CUresult name(u64 *out, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h) \
	{ \
		fn8 real = (fn8)(void *)target(S_##name); \
		CUresult rc; \
		if (!real) \
			return STUB; \
		thread.depth++; \
		rc = real(out, b, c, d, e, f, g, h); \
		thread.depth--; \
		if (rc == 0 && thread.depth == 0) { \
			struct event v = {.kind = K_LIBRARY, .ptr = out ? *out : 0}; \
			place(&v, hip); \
			note(&v, FROM); \
		} \
		return rc; \
	}
LOADS(cuLibraryLoadData, 0)
LOADS(cuLibraryLoadFromFile, 0)
LOADS(hipLibraryLoadData, 1)
LOADS(hipLibraryLoadFromFile, 1)

struct ipc_handle {
	char reserved[64];
};

static CUresult open_memory(int i, u64 *out, struct ipc_handle handle, u32 flags, struct place from)
{
	CUresult (*real)(u64 *, struct ipc_handle, u32) = (void *)target(i);
	CUresult rc;
	if (!real)
		return STUB;
	thread.depth++;
	rc = real(out, handle, flags);
	thread.depth--;
	if (rc == 0 && thread.depth == 0) {
		struct event v = {.kind = K_IPC, .ptr = out ? *out : 0, .flags = SLOT_UNSIZED};
		place(&v, of_hip(i));
		note(&v, from);
	}
	return rc;
}

CUresult cuIpcOpenMemHandle(u64 *out, struct ipc_handle handle, u32 flags)
{
	return open_memory(S_cuIpcOpenMemHandle, out, handle, flags, FROM);
}

CUresult cuIpcOpenMemHandle_v2(u64 *out, struct ipc_handle handle, u32 flags)
{
	return open_memory(S_cuIpcOpenMemHandle_v2, out, handle, flags, FROM);
}

CUresult hipIpcOpenMemHandle(u64 *out, struct ipc_handle handle, u32 flags)
{
	return open_memory(S_hipIpcOpenMemHandle, out, handle, flags, FROM);
}

/* It frees what there is on the thread's device. */
CUresult hipDeviceReset(void)
{
	CUresult (*real)(void) = (void *)target(S_hipDeviceReset);
	struct event v = {.kind = K_PRIMARY_RESET};
	CUresult rc;
	if (!real)
		return STUB;
	place(&v, 1);
	v.ptr = (u64)v.device;
	if (thread.depth == 0)
		note(&v, FROM);
	forget_pools(0);
	thread.depth++;
	rc = real();
	thread.depth--;
	if (rc && thread.depth == 0) {
		v.flags = SLOT_UNDO;
		note(&v, FROM);
	}
	return rc;
}

CUresult hipGetProcAddress(const char *name, void **found, int version, u64 flags, int *status)
{
	CUresult (*real)(const char *, void **, int, u64, int *) = (void *)target(S_hipGetProcAddress);
	CUresult rc = real ? real(name, found, version, flags, status) : STUB;
	int i = rc == 0 && found && *found && !relay ? hook_named(name) : -1;
	if (i < 0 || !of_hip(i))
		return rc;
	learn_hip();
	if (aim(i, *found))
		*found = wrappers[i];
	else
		mark(F_MISSED);
	return rc;
}
