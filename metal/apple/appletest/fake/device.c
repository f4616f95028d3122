// The device, and what the system lists.
#include <stdio.h>
#include <string.h>

#include "metal.h"

typedef struct {
    u64 size, align;
} size_and_align;

static object *device_name(device *d) {
    (void)d;
    return text_of(setting("name", "Fake M1"));
}
static u64 device_allocated(device *d) { return d->allocated; }
static u64 device_total(device *d) { return (void)d, total(); }
static u64 device_family(device *d, SEL cmd, long family) {
    (void)d, (void)cmd;
    char word[32];
    snprintf(word, sizeof word, "%ld", family);
    return BOOLEAN(strstr(setting("families", "1001 1002 1003 1004 1005 1006 1007 3001 3002 3003 5001"), word));
}
static size device_group(device *d) { return (void)d, (size){1024, 1024, 1024}; }
static size_and_align device_heap_size(device *d, SEL cmd, u64 length, u64 options) {
    (void)d, (void)cmd, (void)options;
    return (size_and_align){up(length, 256), 256};
}

static void device_dealloc(device *d) {
    if (d->allocated) die("a device goes with %lu B allocated", (long)d->allocated);
}
static const struct method device_methods[] = {METHOD("name", device_name),
                                               METHOD("currentAllocatedSize", device_allocated),
                                               METHOD("recommendedMaxWorkingSetSize", device_total),
                                               METHOD("maxBufferLength", device_total),
                                               METHOD("supportsFamily:", device_family),
                                               METHOD("maxThreadsPerThreadgroup", device_group),
                                               METHOD("heapBufferSizeAndAlignWithLength:options:", device_heap_size),
                                               METHOD("newBufferWithLength:options:", device_buffer),
                                               METHOD("newHeapWithDescriptor:", device_heap),
                                               METHOD("newResidencySetWithDescriptor:error:", device_residency),
                                               METHOD("newCommandQueueWithMaxCommandBufferCount:", device_queue),
                                               METHOD("newLibraryWithSource:options:error:", device_library),
                                               METHOD("newComputePipelineStateWithFunction:error:", device_pipeline),
                                               {NULL, NULL}};
CLASS(MTLDevice, device, device_methods, device_dealloc);

object *MTLCopyAllDevices(void) {
    array *all = (array *)make(&NSArray);
    for (long n = number("devices", 1); all->count < n && all->count < 16;) all->members[all->count++] = make(&MTLDevice);
    return &all->o;
}

class_ *const all_classes[] = {&NSString, &NSError, &NSArray, &MTLDevice, &MTLBuffer, &MTLHeap, &MTLHeapDescriptor, &MTLResidencySet,
                               &MTLResidencySetDescriptor, &MTLLibrary, &MTLFunction, &MTLComputePipelineState, &MTLCompileOptions,
                               &MTLCommandQueue, &MTLCommandBuffer, &MTLComputeCommandEncoder, NULL};
