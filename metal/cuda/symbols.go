package cuda

// symbol is a function of the library.
type symbol int

const (
	symInit symbol = iota
	symErrorName
	symErrorString
	symDriverVersion
	symDeviceCount
	symDeviceGet
	symDeviceName
	symDeviceTotal
	symDeviceAttribute
	symContextRetain
	symContextRelease
	symContextSet
	symMemInfo
	symMemAlloc
	symMemFree
	symMemcpyToDevice
	symMemcpyToHost
	symModuleLoad
	symModuleUnload
	symModuleFunction
	symLaunch
	symStreamCreate
	symStreamDestroy
	symStreamSync
	symEventCreate
	symEventDestroy
	symEventRecord
	symEventQuery

	// From here on symbols may be missing (before CUDA 11.2).
	symPoolCreate
	symPoolDestroy
	symPoolTrim
	symPoolGet
	symPoolSet
	symAllocFromPool
	symFreeAsync

	symbols // their number
)

// firstOptional is the first symbol that a driver may lack.
const firstOptional = symPoolCreate

// name is the exported name: the version that this package's argument lists
// are of.
func (s symbol) name() string {
	return [symbols]string{
		"cuInit", "cuGetErrorName", "cuGetErrorString", "cuDriverGetVersion",
		"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem_v2", "cuDeviceGetAttribute",
		"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2", "cuCtxSetCurrent",
		"cuMemGetInfo_v2", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
		"cuModuleLoadData", "cuModuleUnload", "cuModuleGetFunction", "cuLaunchKernel",
		"cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize",
		"cuEventCreate", "cuEventDestroy_v2", "cuEventRecord", "cuEventQuery",
		"cuMemPoolCreate", "cuMemPoolDestroy", "cuMemPoolTrimTo", "cuMemPoolGetAttribute",
		"cuMemPoolSetAttribute",
		"cuMemAllocFromPoolAsync", "cuMemFreeAsync",
	}[s]
}

// Device attributes, pool attributes and flags (NVIDIA, cuda.h).
const (
	attributeIntegrated = 18
	attributePools      = 115

	poolReleaseThreshold = 4
	poolReserved         = 5
	poolUsed             = 7

	streamNonBlocking  = 1
	eventDisableTiming = 2
)
