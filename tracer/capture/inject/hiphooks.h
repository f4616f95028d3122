/* HIP: what the interposer hooks of libamdhip64, whose functions are one to one with
 * CUDA's runtime. Programs and PyTorch call them directly. hipMalloc comes first: all
 * from there on is HIP's. */
#ifndef GPUMEM_HIPHOOKS_H
#define GPUMEM_HIPHOOKS_H

#define HIP_HOOKS(X) \
	X(hipMalloc, "", 0, 0) \
	X(hipExtMallocWithFlags, "", 0, 0) \
	X(hipMallocPitch, "", 0, 0) \
	X(hipMemAllocPitch, "", 0, 0) \
	X(hipMallocManaged, "", 0, 0) \
	X(hipMallocAsync, "", 0, 0) \
	X(hipMallocFromPoolAsync, "", 0, 0) \
	X(hipMemCreate, "", 0, 0) \
	X(hipMemMap, "", 0, 0) \
	X(hipMemUnmap, "", 0, 0) \
	X(hipMemRelease, "", 0, 0) \
	X(hipFree, "", 0, 0) \
	X(hipFreeAsync, "", 0, 0) \
	X(hipHostMalloc, "", 0, 0) \
	X(hipHostAlloc, "", 0, 0) \
	X(hipMallocHost, "", 0, 0) \
	X(hipMemAllocHost, "", 0, 0) \
	X(hipHostFree, "", 0, 0) \
	X(hipFreeHost, "", 0, 0) \
	X(hipHostRegister, "", 0, 0) \
	X(hipHostUnregister, "", 0, 0) \
	X(hipMemPoolCreate, "", 0, 0) \
	X(hipMemPoolDestroy, "", 0, 0) \
	X(hipMemPoolTrimTo, "", 0, 0) \
	X(hipStreamSynchronize, "", 0, 0) \
	X(hipEventSynchronize, "", 0, 0) \
	X(hipDeviceSynchronize, "", 0, 0) \
	X(hipEventCreate, "", 0, 0) \
	X(hipEventCreateWithFlags, "", 0, 0) \
	X(hipEventDestroy, "", 0, 0) \
	X(hipStreamCreate, "", 0, 0) \
	X(hipStreamCreateWithFlags, "", 0, 0) \
	X(hipStreamCreateWithPriority, "", 0, 0) \
	X(hipStreamDestroy, "", 0, 0) \
	X(hipGraphInstantiate, "", 0, 0) \
	X(hipGraphInstantiateWithFlags, "", 0, 0) \
	X(hipGraphExecDestroy, "", 0, 0) \
	X(hipModuleLoad, "", 0, 0) \
	X(hipModuleLoadData, "", 0, 0) \
	X(hipModuleLoadDataEx, "", 0, 0) \
	X(hipModuleUnload, "", 0, 0) \
	X(hipMalloc3D, "", 0, 0) \
	X(hipArrayCreate, "", 0, 0) \
	X(hipArray3DCreate, "", 0, 0) \
	X(hipMallocArray, "", 0, 0) \
	X(hipMalloc3DArray, "", 0, 0) \
	X(hipArrayDestroy, "", 0, 0) \
	X(hipFreeArray, "", 0, 0) \
	X(hipMipmappedArrayCreate, "", 0, 0) \
	X(hipMallocMipmappedArray, "", 0, 0) \
	X(hipMipmappedArrayDestroy, "", 0, 0) \
	X(hipFreeMipmappedArray, "", 0, 0) \
	X(hipIpcOpenMemHandle, "", 0, 0) \
	X(hipIpcCloseMemHandle, "", 0, 0) \
	X(hipMemImportFromShareableHandle, "", 0, 0) \
	X(hipMemRetainAllocationHandle, "", 0, 0) \
	X(hipGraphInstantiateWithParams, "", 0, 0) \
	X(hipModuleLoadFatBinary, "", 0, 0) \
	X(hipLibraryLoadData, "", 0, 0) \
	X(hipLibraryLoadFromFile, "", 0, 0) \
	X(hipLibraryUnload, "", 0, 0) \
	X(hipStreamSynchronize_spt, "", 0, 0) \
	X(hipDeviceReset, "", 0, 0) \
	X(hipGetProcAddress, "", 0, 0)

#endif
