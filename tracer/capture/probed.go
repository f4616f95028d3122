package capture

// probedFunction is one function of the driver, or of HIP's runtime, that Attach follows:
// the hooks of inject/bind.h and inject/hiphooks.h.
type probedFunction struct {
	name string
	kind kind
	form form
}

// form is where a call has what an event needs.
type form uint8

const (
	formOut        form = iota // address behind argument 0, size in argument 1
	formOutOnly                // handle behind argument 0, no size
	formPitch                  // pitch behind argument 1, height in argument 3
	formArray2D                // descriptor behind argument 1
	formArray3D                //
	formMipmap                 // and the number of levels in argument 2
	formPitched                // pitch after the address behind argument 0, extent on the stack
	formChannels               // channels behind argument 1, width and height in 2 and 3
	formVolume                 // channels behind argument 1, extent on the stack
	formLevels                 // and the number of levels in argument 2
	formCreate                 // properties behind argument 2
	formGiven                  // address in argument 0, size in argument 1
	formMap                    // and the handle in argument 3
	formPrimary                // device in argument 1
	formNothing                //
	formTakes                  // what is taken away is in argument 0
	formTakesRange             // and the size in argument 1
)

// takes reports whether the call takes something away.
func (f form) takes() bool { return f >= formTakes }

var probed = []probedFunction{
	{"cuInit", kindInit, formNothing},
	{"cuMemAlloc_v2", kindAlloc, formOut},
	{"cuMemAllocPitch_v2", kindAlloc, formPitch},
	{"cuMemAllocManaged", kindManaged, formOut},
	{"cuMemAllocAsync", kindAsync, formOut},
	{"cuMemAllocAsync_ptsz", kindAsync, formOut},
	{"cuMemAllocFromPoolAsync", kindAsync, formOut},
	{"cuMemAllocFromPoolAsync_ptsz", kindAsync, formOut},
	{"cuMemCreate", kindCreate, formCreate},
	{"cuArrayCreate_v2", kindArray, formArray2D},
	{"cuArray3DCreate_v2", kindArray, formArray3D},
	{"cuMipmappedArrayCreate", kindMipmap, formMipmap},
	{"cuMemHostAlloc", kindHost, formOut},
	{"cuMemAllocHost", kindHost, formOut},
	{"cuMemAllocHost_v2", kindHost, formOut},
	{"cuMemHostRegister", kindRegister, formGiven},
	{"cuMemHostRegister_v2", kindRegister, formGiven},
	{"cuIpcOpenMemHandle", kindIPC, formOutOnly},
	{"cuIpcOpenMemHandle_v2", kindIPC, formOutOnly},
	{"cuMemImportFromShareableHandle", kindImport, formOutOnly},
	{"cuMemRetainAllocationHandle", kindRetainHandle, formOutOnly},
	{"cuMemMap", kindMap, formMap},
	{"cuMemPoolCreate", kindPool, formOutOnly},
	{"cuMemPoolTrimTo", kindPoolTrim, formGiven},
	{"cuCtxCreate", kindCtx, formOutOnly},
	{"cuCtxCreate_v2", kindCtx, formOutOnly},
	{"cuCtxCreate_v3", kindCtx, formOutOnly},
	{"cuCtxCreate_v4", kindCtx, formOutOnly},
	{"cuDevicePrimaryCtxRetain", kindPrimary, formPrimary},
	{"cuEventCreate", kindEvent, formOutOnly},
	{"cuStreamCreate", kindStream, formOutOnly},
	{"cuStreamCreateWithPriority", kindStream, formOutOnly},
	{"cuGraphInstantiate", kindGraph, formOutOnly},
	{"cuGraphInstantiate_v2", kindGraph, formOutOnly},
	{"cuGraphInstantiateWithFlags", kindGraph, formOutOnly},
	{"cuGraphInstantiateWithParams", kindGraph, formOutOnly},
	{"cuGraphInstantiateWithParams_ptsz", kindGraph, formOutOnly},
	{"cuModuleLoad", kindModule, formOutOnly},
	{"cuModuleLoadData", kindModule, formOutOnly},
	{"cuModuleLoadDataEx", kindModule, formOutOnly},
	{"cuModuleLoadFatBinary", kindModule, formOutOnly},
	{"cuLibraryLoadData", kindLibrary, formOutOnly},
	{"cuLibraryLoadFromFile", kindLibrary, formOutOnly},

	{"cuMemFree_v2", kindFree, formTakes},
	{"cuMemFreeAsync", kindFreeAsync, formTakes},
	{"cuMemFreeAsync_ptsz", kindFreeAsync, formTakes},
	{"cuMemRelease", kindRelease, formTakes},
	{"cuArrayDestroy", kindArrayDestroy, formTakes},
	{"cuMipmappedArrayDestroy", kindMipmapDestroy, formTakes},
	{"cuMemFreeHost", kindFreeHost, formTakes},
	{"cuMemHostUnregister", kindUnregister, formTakes},
	{"cuIpcCloseMemHandle", kindIPCClose, formTakes},
	{"cuMemUnmap", kindUnmap, formTakesRange},
	{"cuMemPoolDestroy", kindPoolDestroy, formTakes},
	{"cuCtxDestroy", kindCtxDestroy, formTakes},
	{"cuCtxDestroy_v2", kindCtxDestroy, formTakes},
	{"cuDevicePrimaryCtxRelease", kindPrimaryRelease, formTakes},
	{"cuDevicePrimaryCtxRelease_v2", kindPrimaryRelease, formTakes},
	{"cuDevicePrimaryCtxReset", kindPrimaryReset, formTakes},
	{"cuDevicePrimaryCtxReset_v2", kindPrimaryReset, formTakes},
	{"cuEventDestroy", kindEventDestroy, formTakes},
	{"cuEventDestroy_v2", kindEventDestroy, formTakes},
	{"cuStreamDestroy", kindStreamDestroy, formTakes},
	{"cuStreamDestroy_v2", kindStreamDestroy, formTakes},
	{"cuGraphExecDestroy", kindGraphDestroy, formTakes},
	{"cuModuleUnload", kindModuleUnload, formTakes},
	{"cuLibraryUnload", kindLibraryUnload, formTakes},

	// HIP's runtime, which has no contexts. A reset does not say of which device.
	{"hipMalloc", kindAlloc, formOut},
	{"hipExtMallocWithFlags", kindAlloc, formOut},
	{"hipMallocPitch", kindAlloc, formPitch},
	{"hipMemAllocPitch", kindAlloc, formPitch},
	{"hipMalloc3D", kindAlloc, formPitched},
	{"hipMallocManaged", kindManaged, formOut},
	{"hipMallocAsync", kindAsync, formOut},
	{"hipMallocFromPoolAsync", kindAsync, formOut},
	{"hipMemCreate", kindCreate, formCreate},
	{"hipMemMap", kindMap, formMap},
	{"hipHostMalloc", kindHost, formOut},
	{"hipHostAlloc", kindHost, formOut},
	{"hipMallocHost", kindHost, formOut},
	{"hipMemAllocHost", kindHost, formOut},
	{"hipHostRegister", kindRegister, formGiven},
	{"hipArrayCreate", kindArray, formArray2D},
	{"hipArray3DCreate", kindArray, formArray3D},
	{"hipMallocArray", kindArray, formChannels},
	{"hipMalloc3DArray", kindArray, formVolume},
	{"hipMipmappedArrayCreate", kindMipmap, formMipmap},
	{"hipMallocMipmappedArray", kindMipmap, formLevels},
	{"hipIpcOpenMemHandle", kindIPC, formOutOnly},
	{"hipMemImportFromShareableHandle", kindImport, formOutOnly},
	{"hipMemRetainAllocationHandle", kindRetainHandle, formOutOnly},
	{"hipMemPoolCreate", kindPool, formOutOnly},
	{"hipMemPoolTrimTo", kindPoolTrim, formGiven},
	{"hipEventCreate", kindEvent, formOutOnly},
	{"hipEventCreateWithFlags", kindEvent, formOutOnly},
	{"hipStreamCreate", kindStream, formOutOnly},
	{"hipStreamCreateWithFlags", kindStream, formOutOnly},
	{"hipStreamCreateWithPriority", kindStream, formOutOnly},
	{"hipGraphInstantiate", kindGraph, formOutOnly},
	{"hipGraphInstantiateWithFlags", kindGraph, formOutOnly},
	{"hipGraphInstantiateWithParams", kindGraph, formOutOnly},
	{"hipModuleLoad", kindModule, formOutOnly},
	{"hipModuleLoadData", kindModule, formOutOnly},
	{"hipModuleLoadDataEx", kindModule, formOutOnly},
	{"hipModuleLoadFatBinary", kindModule, formOutOnly},
	{"hipLibraryLoadData", kindLibrary, formOutOnly},
	{"hipLibraryLoadFromFile", kindLibrary, formOutOnly},
	{"hipFree", kindFree, formTakes},
	{"hipFreeAsync", kindFreeAsync, formTakes},
	{"hipMemRelease", kindRelease, formTakes},
	{"hipMemUnmap", kindUnmap, formTakesRange},
	{"hipHostFree", kindFreeHost, formTakes},
	{"hipFreeHost", kindFreeHost, formTakes},
	{"hipHostUnregister", kindUnregister, formTakes},
	{"hipArrayDestroy", kindArrayDestroy, formTakes},
	{"hipFreeArray", kindArrayDestroy, formTakes},
	{"hipMipmappedArrayDestroy", kindMipmapDestroy, formTakes},
	{"hipFreeMipmappedArray", kindMipmapDestroy, formTakes},
	{"hipIpcCloseMemHandle", kindIPCClose, formTakes},
	{"hipMemPoolDestroy", kindPoolDestroy, formTakes},
	{"hipEventDestroy", kindEventDestroy, formTakes},
	{"hipStreamDestroy", kindStreamDestroy, formTakes},
	{"hipGraphExecDestroy", kindGraphDestroy, formTakes},
	{"hipModuleUnload", kindModuleUnload, formTakes},
	{"hipLibraryUnload", kindLibraryUnload, formTakes},
}
