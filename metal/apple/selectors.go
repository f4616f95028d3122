package apple

// selector is a message that this package sends.
type selector int

const (
	// Foundation.
	selAlloc selector = iota
	selInit
	selRetain
	selRelease
	selResponds
	selSignature
	selInitText
	selText
	selCount
	selAt
	selCode
	selWords

	// The device.
	selName
	selAllocated
	selWorkingSet
	selMaxLength
	selFamily
	selGroup
	selNewBuffer
	selHeapRoom
	selNewHeap
	selNewResidency
	selNewQueue
	selNewLibrary
	selNewPipeline

	// Buffers and heaps.
	selContents
	selAllocatedSize
	selPurgeable
	selLabel
	selSetSize
	selSetStorage
	selSetHazards
	selHeapSize
	selHeapUsed
	selHeapAvailable

	// Residency sets.
	selAdd
	selRemove
	selRequest
	selEnd
	selAddSet
	selRemoveSet

	// Code.
	selMathMode
	selFastMath
	selFunction
	selMaxThreads
	selWidth

	// Work.
	selCommand
	selEncoder
	selSetPipeline
	selSetBuffer
	selSetBytes
	selDispatch
	selEndEncoding
	selCommit
	selWait
	selStatus
	selError

	selectors // their number
)

// name is the selector as Apple's metal-cpp registers it.
func (s selector) name() string {
	return [selectors]string{
		"alloc", "init", "retain", "release", "respondsToSelector:", "methodSignatureForSelector:",
		"initWithCString:encoding:", "UTF8String", "count",
		"objectAtIndex:", "code", "localizedDescription",

		"name", "currentAllocatedSize", "recommendedMaxWorkingSetSize", "maxBufferLength", "supportsFamily:",
		"maxThreadsPerThreadgroup", "newBufferWithLength:options:",
		"heapBufferSizeAndAlignWithLength:options:",
		"newHeapWithDescriptor:", "newResidencySetWithDescriptor:error:",
		"newCommandQueueWithMaxCommandBufferCount:",
		"newLibraryWithSource:options:error:", "newComputePipelineStateWithFunction:error:",

		"contents", "allocatedSize", "setPurgeableState:", "setLabel:", "setSize:", "setStorageMode:",
		"setHazardTrackingMode:",
		"size", "usedSize", "maxAvailableSizeWithAlignment:",

		"addAllocation:", "removeAllocation:", "requestResidency", "endResidency", "addResidencySet:",
		"removeResidencySet:",

		"setMathMode:", "setFastMathEnabled:", "newFunctionWithName:", "maxTotalThreadsPerThreadgroup",
		"threadExecutionWidth",

		"commandBuffer", "computeCommandEncoder", "setComputePipelineState:", "setBuffer:offset:atIndex:",
		"setBytes:length:atIndex:", "dispatchThreads:threadsPerThreadgroup:", "endEncoding", "commit",
		"waitUntilCompleted",
		"status", "error",
	}[s]
}

// The selectors without which nothing works, by the object that must have them.
// What is missing from a list is asked for where it is used.
var (
	ofDevice = []selector{
		selName, selAllocated, selWorkingSet, selMaxLength, selFamily, selGroup, selNewBuffer, selNewQueue,
		selNewLibrary, selNewPipeline,
	}
	ofBuffer   = []selector{selContents, selAllocatedSize, selPurgeable, selLabel}
	ofQueue    = []selector{selCommand}
	ofCommand  = []selector{selEncoder, selCommit, selWait, selStatus, selError}
	ofEncoder  = []selector{selSetPipeline, selSetBuffer, selSetBytes, selDispatch, selEndEncoding}
	ofLibrary  = []selector{selFunction}
	ofPipeline = []selector{selMaxThreads, selWidth}
)

// Constants of Apple's headers (metal-cpp 370.63).
const (
	utf8 = 4 // NSUTF8StringEncoding

	storageShared = 0 // MTLResourceStorageModeShared, MTLStorageModeShared
	hazardTracked = 2 // MTLHazardTrackingModeTracked
	mathSafe      = 0 // MTLMathModeSafe

	familyApple4 = 1004 // MTLGPUFamilyApple4
	familyMac2   = 2002 // MTLGPUFamilyMac2

	statusError = 5 // MTLCommandBufferStatusError
)
