// What the fake's classes share.
#pragma once

#include <stdatomic.h>

#include "fake.h"

#define METHOD(name, function) {name, (void *)(function)}
#define CLASS(name, type, methods, dealloc) class_ name = {NULL, #name, sizeof(type), methods, (void (*)(object *))dealloc, 0}

extern class_ NSString, NSError, NSArray, MTLDevice, MTLBuffer, MTLHeap, MTLHeapDescriptor, MTLResidencySet, MTLResidencySetDescriptor,
    MTLLibrary, MTLFunction, MTLComputePipelineState, MTLCompileOptions, MTLCommandQueue, MTLCommandBuffer, MTLComputeCommandEncoder;

typedef struct {
    object o;
    char *text;
} string;

typedef struct {
    object o;
    atomic_ulong allocated;
    atomic_long buffers, queues, commands, encoders;
} device;

typedef struct {
    object o;
    device *device;
    struct heap *heap; // else the memory is its own
    char *memory;
    u64 length, room;
    long state;
} buffer;

typedef struct {
    u64 width, height, depth;
} size;

typedef struct {
    object o;
    long count;
    object *members[16];
} array;

typedef struct {
    object o;
    device *device;
    const struct gpumem_kernel *kernel;
} pipeline;

enum { page = 16384, max_arguments = 31, max_inline = 4096 };

static inline u64 up(u64 n, u64 to) { return (n + to - 1) / to * to; }
static inline u64 total(void) { return (u64)number("total", 8l << 30); }

// foundation.c
object *text_of(const char *text);                        // autoreleased
void *fail(object **out, long code, const char *words);   // leaves an autoreleased NSError, returns nil
u64 set_label(object *, SEL, object *label);

// The methods of the device that make something.
object *device_buffer(device *, SEL, u64 length, u64 options);
object *device_heap(device *, SEL, object *descriptor);
object *device_residency(device *, SEL, object *descriptor, object **out);
object *device_library(device *, SEL, string *source, object *options, object **out);
object *device_pipeline(device *, SEL, object *function, object **out);
object *device_queue(device *, SEL, u64 limit);
u64 pipeline_threads(pipeline *);
