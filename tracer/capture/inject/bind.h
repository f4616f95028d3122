/* The functions that are hooked, what they are bound to, and what they call. See bind.c. */
#ifndef GPUMEM_BIND_H
#define GPUMEM_BIND_H

#include <link.h>

#include "base.h"
#include "hiphooks.h"

typedef int CUresult;
typedef CUresult (*fn6)(u64, u64, u64, u64, u64, u64);
#define NO_MEMORY 2 /* CUDA_ERROR_OUT_OF_MEMORY, hipErrorOutOfMemory */
#define STUB 34 /* CUDA_ERROR_STUB_LIBRARY: what a missing driver is */

/* The hooked functions: exported name, the name cuGetProcAddress knows it by,
 * whether it is a per-thread-stream variant, the lowest CUDA version for which
 * that name means this function (0: any). An empty base is found by its address
 * only. */
#define HOOKS(X) \
	X(cuGetProcAddress, "cuGetProcAddress", 0, 0) \
	X(cuGetProcAddress_v2, "cuGetProcAddress", 0, 12000) \
	X(cuInit, "cuInit", 0, 0) \
	X(cuMemAlloc_v2, "cuMemAlloc", 0, 3020) \
	X(cuMemAllocPitch_v2, "cuMemAllocPitch", 0, 3020) \
	X(cuMemAllocManaged, "cuMemAllocManaged", 0, 0) \
	X(cuMemAllocAsync, "cuMemAllocAsync", 0, 0) \
	X(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 1, 0) \
	X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 0, 0) \
	X(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", 1, 0) \
	X(cuMemCreate, "cuMemCreate", 0, 0) \
	X(cuArrayCreate_v2, "cuArrayCreate", 0, 3020) \
	X(cuArray3DCreate_v2, "cuArray3DCreate", 0, 3020) \
	X(cuMipmappedArrayCreate, "cuMipmappedArrayCreate", 0, 0) \
	X(cuMemHostAlloc, "cuMemHostAlloc", 0, 0) \
	X(cuMemAllocHost, "cuMemAllocHost", 0, 2000) \
	X(cuMemAllocHost_v2, "cuMemAllocHost", 0, 3020) \
	X(cuMemHostRegister, "cuMemHostRegister", 0, 4000) \
	X(cuMemHostRegister_v2, "cuMemHostRegister", 0, 6050) \
	X(cuIpcOpenMemHandle, "cuIpcOpenMemHandle", 0, 4010) \
	X(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 0, 11000) \
	X(cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle", 0, 0) \
	X(cuMemFree_v2, "cuMemFree", 0, 3020) \
	X(cuMemFreeAsync, "cuMemFreeAsync", 0, 0) \
	X(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 1, 0) \
	X(cuMemRelease, "cuMemRelease", 0, 0) \
	X(cuArrayDestroy, "cuArrayDestroy", 0, 0) \
	X(cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy", 0, 0) \
	X(cuMemFreeHost, "cuMemFreeHost", 0, 0) \
	X(cuMemHostUnregister, "cuMemHostUnregister", 0, 0) \
	X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 0, 0) \
	X(cuMemMap, "cuMemMap", 0, 0) \
	X(cuMemUnmap, "cuMemUnmap", 0, 0) \
	X(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", 0, 0) \
	X(cuMemPoolCreate, "cuMemPoolCreate", 0, 0) \
	X(cuMemPoolDestroy, "cuMemPoolDestroy", 0, 0) \
	X(cuMemPoolTrimTo, "cuMemPoolTrimTo", 0, 0) \
	X(cuStreamSynchronize, "cuStreamSynchronize", 0, 0) \
	X(cuStreamSynchronize_ptsz, "cuStreamSynchronize", 1, 0) \
	X(cuEventSynchronize, "cuEventSynchronize", 0, 0) \
	X(cuCtxSynchronize, "cuCtxSynchronize", 0, 0) \
	X(cuCtxSynchronize_v2, "cuCtxSynchronize", 0, 13000) \
	X(cuCtxCreate, "", 0, 0) \
	X(cuCtxCreate_v2, "", 0, 0) \
	X(cuCtxCreate_v3, "", 0, 0) \
	X(cuCtxCreate_v4, "", 0, 0) \
	X(cuCtxDestroy, "cuCtxDestroy", 0, 2000) \
	X(cuCtxDestroy_v2, "cuCtxDestroy", 0, 4000) \
	X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 0, 0) \
	X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", 0, 7000) \
	X(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 0, 11000) \
	X(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset", 0, 7000) \
	X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 0, 11000) \
	X(cuEventCreate, "cuEventCreate", 0, 0) \
	X(cuEventDestroy, "cuEventDestroy", 0, 2000) \
	X(cuEventDestroy_v2, "cuEventDestroy", 0, 4000) \
	X(cuStreamCreate, "cuStreamCreate", 0, 0) \
	X(cuStreamCreateWithPriority, "cuStreamCreateWithPriority", 0, 0) \
	X(cuStreamDestroy, "cuStreamDestroy", 0, 2000) \
	X(cuStreamDestroy_v2, "cuStreamDestroy", 0, 4000) \
	X(cuGraphInstantiate, "cuGraphInstantiate", 0, 10000) \
	X(cuGraphInstantiate_v2, "cuGraphInstantiate", 0, 11000) \
	X(cuGraphInstantiateWithFlags, "cuGraphInstantiate", 0, 12000) \
	X(cuGraphInstantiateWithParams, "cuGraphInstantiateWithParams", 0, 0) \
	X(cuGraphInstantiateWithParams_ptsz, "cuGraphInstantiateWithParams", 1, 0) \
	X(cuGraphExecDestroy, "cuGraphExecDestroy", 0, 0) \
	X(cuModuleLoad, "cuModuleLoad", 0, 0) \
	X(cuModuleLoadData, "cuModuleLoadData", 0, 0) \
	X(cuModuleLoadDataEx, "cuModuleLoadDataEx", 0, 0) \
	X(cuModuleLoadFatBinary, "cuModuleLoadFatBinary", 0, 0) \
	X(cuModuleUnload, "cuModuleUnload", 0, 0) \
	X(cuLibraryLoadData, "cuLibraryLoadData", 0, 0) \
	X(cuLibraryLoadFromFile, "cuLibraryLoadFromFile", 0, 0) \
	X(cuLibraryUnload, "cuLibraryUnload", 0, 0) \
	HIP_HOOKS(X)

enum {
#define X(name, base, ptsz, from) S_##name,
	HOOKS(X)
#undef X
	HOOK_COUNT
};

#define X(name, base, ptsz, from) EXPORT CUresult name();
HOOKS(X)
#undef X

typedef void *(*dlsym_fn)(void *, const char *);

#pragma GCC visibility push(hidden)

extern void *const wrappers[HOOK_COUNT];
extern void *targets[HOOK_COUNT]; /* what a wrapper calls */
extern void *exports[HOOK_COUNT]; /* what the driver exports by that name */
extern struct link_map *driver_map, *hip_map;
extern fn6 ctx_current, ctx_device, ctx_memory, hip_device, hip_choose, hip_memory;
extern dlsym_fn next_dlsym;
/* With LD_AUDIT we are loaded twice: the loader does not ask the auditor about
 * functions whose address is taken, these bind to a preloaded copy, which only
 * relays to the audited function. */
extern u32 relay;

/* What the driver's pools are asked by, of CUDA and of HIP. */
extern struct pool_calls {
	fn6 get, of_device, current, trim, capture_mode;
} pool_calls[2];

int hook_named(const char *name);
void learn(int i);
void learn_hip(void);
int aim(int i, void *found);
fn6 find_target(int i);
void *next_export(const char *name);
void find_next_dlsym(void);
void *first(const char *name);

#pragma GCC visibility pop

EXPORT void *gpumem_dlsym(void *handle, const char *name); /* by dlsym's name */

static inline int of_hip(int i) { return i >= S_hipMalloc; }

/* target is the real function of a hook. */
static inline fn6 target(int i)
{
	fn6 f = (fn6)load(&targets[i]);
	return __builtin_expect(f != 0, 1) ? f : find_target(i);
}

#endif
