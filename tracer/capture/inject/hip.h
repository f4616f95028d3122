/* HIP: what its hooked functions do. Included by calls.c, whose macros these are. */
struct hip_extent {
	size_t width, height, depth;
};

struct hip_pitched {
	u64 ptr;
	size_t pitch, width, height;
};

/* hipChannelFormatDesc: the bits of four channels, then their kind. */
static u64 channel_size(u64 desc)
{
	const int *bits = (const int *)desc;
	return bits ? (u64)(bits[0] + bits[1] + bits[2] + bits[3]) / 8 : 0;
}

#define HIP_WRAPPERS \
	CREATES(hipMalloc, K_ALLOC, OUT, b, 1, NOTHING) \
	CREATES(hipExtMallocWithFlags, K_ALLOC, OUT, b, 1, NOTHING) \
	CREATES(hipMallocPitch, K_ALLOC, OUT, (rc == 0 && b ? *(u64 *)b : c) * d, 1, NOTHING) \
	CREATES(hipMemAllocPitch, K_ALLOC, OUT, (rc == 0 && b ? *(u64 *)b : c) * d, 1, NOTHING) \
	CREATES(hipMallocManaged, K_MANAGED, OUT, b, 1, NOTHING) \
	CREATES(hipMallocAsync, K_ASYNC, OUT, b, 1, NOTHING) \
	CREATES(hipMallocFromPoolAsync, K_ASYNC, OUT, b, 1, v.pool = c) \
	CREATES(hipMemCreate, K_CREATE, OUT, b, 1, place_created(&v, c)) \
	CREATES(hipMemMap, K_MAP, a, b, 0, v.aux = d) \
	CREATES(hipHostMalloc, K_HOST, OUT, b, 1, NOTHING) \
	CREATES(hipHostAlloc, K_HOST, OUT, b, 1, NOTHING) \
	CREATES(hipMallocHost, K_HOST, OUT, b, 1, NOTHING) \
	CREATES(hipMemAllocHost, K_HOST, OUT, b, 1, NOTHING) \
	CREATES(hipHostRegister, K_REGISTER, a, b, 1, NOTHING) \
	CREATES(hipMemPoolCreate, K_POOL, OUT, 0, 0, place_created(&v, b); v.flags = 0) \
	CREATES(hipMemPoolTrimTo, K_POOL_TRIM, a, b, 0, NOTHING) \
	CREATES(hipEventCreate, K_EVENT, OUT, 0, 0, NOTHING) \
	CREATES(hipEventCreateWithFlags, K_EVENT, OUT, 0, 0, NOTHING) \
	CREATES(hipStreamCreate, K_STREAM, OUT, 0, 0, NOTHING) \
	CREATES(hipStreamCreateWithFlags, K_STREAM, OUT, 0, 0, NOTHING) \
	CREATES(hipStreamCreateWithPriority, K_STREAM, OUT, 0, 0, NOTHING) \
	CREATES(hipGraphInstantiate, K_GRAPH, OUT, 0, 0, NOTHING) \
	CREATES(hipGraphInstantiateWithFlags, K_GRAPH, OUT, 0, 0, NOTHING) \
	CREATES(hipModuleLoad, K_MODULE, OUT, 0, 0, NOTHING) \
	CREATES(hipModuleLoadData, K_MODULE, OUT, 0, 0, NOTHING) \
	CREATES(hipModuleLoadDataEx, K_MODULE, OUT, 0, 0, NOTHING) \
	DESTROYS(hipMemUnmap, K_UNMAP, b) \
	DESTROYS(hipMemRelease, K_RELEASE, 0) \
	DESTROYS(hipFree, K_FREE, 0) \
	DESTROYS(hipFreeAsync, K_FREE_ASYNC, 0) \
	DESTROYS(hipHostFree, K_FREE_HOST, 0) \
	DESTROYS(hipFreeHost, K_FREE_HOST, 0) \
	DESTROYS(hipHostUnregister, K_UNREGISTER, 0) \
	DESTROYS(hipMemPoolDestroy, K_POOL_DESTROY, 0) \
	DESTROYS(hipEventDestroy, K_EVENT_DESTROY, 0) \
	DESTROYS(hipStreamDestroy, K_STREAM_DESTROY, 0) \
	DESTROYS(hipGraphExecDestroy, K_GRAPH_DESTROY, 0) \
	DESTROYS(hipModuleUnload, K_MODULE_UNLOAD, 0) \
	WAITS(hipStreamSynchronize) \
	WAITS(hipStreamSynchronize_spt) \
	WAITS(hipEventSynchronize) \
	WAITS(hipDeviceSynchronize) \
	CREATES(hipArrayCreate, K_ARRAY, OUT, array_size(b, 2, 1), 1, v.flags = v.size ? 0 : SLOT_UNSIZED) \
	CREATES(hipArray3DCreate, K_ARRAY, OUT, array_size(b, 3, 1), 1, v.flags = v.size ? 0 : SLOT_UNSIZED) \
	CREATES(hipMallocArray, K_ARRAY, OUT, channel_size(b) * c * (d ? d : 1), 1, NOTHING) \
	CREATES(hipMipmappedArrayCreate, K_MIPMAP, OUT, array_size(b, 3, (u32)c), 1, v.flags = v.size ? 0 : SLOT_UNSIZED) \
	CREATES(hipMemImportFromShareableHandle, K_IMPORT, OUT, 0, 0, v.flags = SLOT_UNSIZED) \
	CREATES(hipMemRetainAllocationHandle, K_RETAIN_HANDLE, OUT, 0, 0, NOTHING) \
	CREATES(hipGraphInstantiateWithParams, K_GRAPH, OUT, 0, 0, NOTHING) \
	CREATES(hipModuleLoadFatBinary, K_MODULE, OUT, 0, 0, NOTHING) \
	DESTROYS(hipArrayDestroy, K_ARRAY_DESTROY, 0) \
	DESTROYS(hipFreeArray, K_ARRAY_DESTROY, 0) \
	DESTROYS(hipMipmappedArrayDestroy, K_MIPMAP_DESTROY, 0) \
	DESTROYS(hipFreeMipmappedArray, K_MIPMAP_DESTROY, 0) \
	DESTROYS(hipIpcCloseMemHandle, K_IPC_CLOSE, 0) \
	DESTROYS(hipLibraryUnload, K_LIBRARY_UNLOAD, 0)

/* Those that six integers do not cover: structures that are passed by value. */
#define HIP_SPECIAL \
	HIP_MAKES(hipMalloc3D, K_ALLOC, (struct hip_pitched *out, struct hip_extent n), (out, n), \
		  rc == 0 && out ? out->ptr : 0, (rc == 0 && out ? out->pitch : n.width) * n.height * n.depth) \
	HIP_MAKES(hipMalloc3DArray, K_ARRAY, (u64 *out, u64 desc, struct hip_extent n, u32 flags), (out, desc, n, flags), \
		  rc == 0 && out ? *out : 0, channel_size(desc) * levels_size(n, 1)) \
	HIP_MAKES(hipMallocMipmappedArray, K_MIPMAP, \
		  (u64 *out, u64 desc, struct hip_extent n, u32 levels, u32 flags), (out, desc, n, levels, flags), \
		  rc == 0 && out ? *out : 0, channel_size(desc) * levels_size(n, levels))

#define HIP_MAKES(name, kind_, params_, pass_, ptr_, size_) \
	CUresult name params_ \
	{ \
		CUresult(*real) params_ = (void *)target(S_##name); \
		CUresult rc; \
		if (!real) \
			return STUB; \
		struct event at = before(1); \
		thread.depth++; \
		rc = real pass_; \
		thread.depth--; \
		if (thread.depth == 0) { \
			struct event v = {.kind = kind_, .rc = rc, .ptr = ptr_, .size = size_, .device = at.device}; \
			if (__builtin_expect(rc == NO_MEMORY, 0)) \
				ask_free(&v, 1); \
			note(&v, FROM); \
		} \
		return rc; \
	}
