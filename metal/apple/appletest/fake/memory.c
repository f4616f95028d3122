// Buffers, heaps and residency sets.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "metal.h"

typedef struct heap {
    object o;
    device *device;
    char *memory;
    u64 size, used, top;
    long buffers, state;
} heap;

enum { mapped_from = 1 << 20 };

static char *acquire(u64 room) {
    if (room < mapped_from) {
        char *p = aligned_alloc(page, room);
        if (p) memset(p, 0, room);
        return p;
    }
    char *p = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void relinquish(char *p, u64 room) {
    if (room < mapped_from)
        free(p);
    else
        munmap(p, room);
}

static void discard(char *p, u64 room) {
    if (room < mapped_from)
        memset(p, 0xee, room);
    else
        madvise(p, room, MADV_DONTNEED);
}

static const struct method buffer_methods[], heap_methods[];
static void buffer_dealloc(buffer *);
static void heap_dealloc(heap *);
CLASS(MTLBuffer, buffer, buffer_methods, buffer_dealloc);
CLASS(MTLHeap, heap, heap_methods, heap_dealloc);

object *device_buffer(device *d, SEL cmd, u64 length, u64 options) {
    (void)cmd;
    if (length == 0 || length > total()) die("newBufferWithLength: %lu", (long)length);
    if (options & ~0x331ull) die("newBufferWithLength: options %#lx", (long)options);
    u64 room = up(length, page);
    if (planted("buffer_nil_at", ++d->buffers, NULL)) return NULL;
    if (d->allocated + room > total()) return NULL;
    char *memory = acquire(room);
    if (!memory) return NULL;
    d->allocated += room;
    buffer *b = (buffer *)make(&MTLBuffer);
    b->device = (device *)retain(&d->o);
    b->memory = memory;
    b->length = length, b->room = room, b->state = 2;
    return &b->o;
}

_Atomic long unemptied;

// The real one autoreleases its device when it goes, so that a release outside
// a pool leaves something as well.
static void buffer_dealloc(buffer *b) {
    if (b->heap) {
        b->heap->buffers--;
        b->heap->used -= b->room;
        if (b->heap->buffers == 0) b->heap->top = 0;
        release(&b->heap->o);
    } else {
        unemptied += b->state != 4;
        relinquish(b->memory, b->room);
        b->device->allocated -= b->room;
    }
    autoreleased(&b->device->o);
}
static void *buffer_contents(buffer *b) { return b->memory; }
static u64 buffer_allocated(buffer *b) { return b->room; }
static u64 purge(long *state, long to, char *memory, u64 room) {
    if (to < 1 || to > 4) die("setPurgeableState: %ld", to);
    long old = *state;
    if (to != 1) *state = to;
    if (to == 4) discard(memory, room);
    return (u64)old;
}
static u64 buffer_purge(buffer *b, SEL cmd, u64 to) {
    (void)cmd;
    if (b->heap && to != 1) die("setPurgeableState: of a buffer in a heap");
    return purge(&b->state, (long)to, b->memory, b->room);
}
static const struct method buffer_methods[] = {METHOD("contents", buffer_contents),
                                               METHOD("allocatedSize", buffer_allocated),
                                               METHOD("setPurgeableState:", buffer_purge),
                                               METHOD("setLabel:", set_label),
                                               {NULL, NULL}};

typedef struct {
    object o;
    u64 size, storage, tracking;
} heap_descriptor;

static u64 heap_set_size(heap_descriptor *h, SEL cmd, u64 v) { return (void)cmd, h->size = v, JUNK; }
static u64 heap_set_storage(heap_descriptor *h, SEL cmd, u64 v) { return (void)cmd, h->storage = v, JUNK; }
static u64 heap_set_tracking(heap_descriptor *h, SEL cmd, u64 v) { return (void)cmd, h->tracking = v, JUNK; }
static object *heap_descriptor_init(heap_descriptor *h) {
    h->storage = 2; // private, as the real one
    return &h->o;
}
static const struct method heap_descriptor_methods[] = {METHOD("init", heap_descriptor_init),
                                                        METHOD("setSize:", heap_set_size),
                                                        METHOD("setStorageMode:", heap_set_storage),
                                                        METHOD("setHazardTrackingMode:", heap_set_tracking),
                                                        {NULL, NULL}};
CLASS(MTLHeapDescriptor, heap_descriptor, heap_descriptor_methods, NULL);

object *device_heap(device *d, SEL cmd, object *descriptor) {
    (void)cmd;
    heap_descriptor *from = (heap_descriptor *)descriptor;
    if (from->o.isa != &MTLHeapDescriptor || from->size == 0) die("newHeapWithDescriptor: without a size");
    if (from->storage != 0) die("newHeapWithDescriptor: its memory is for the GPU alone");
    if (from->tracking != 2) die("newHeapWithDescriptor: hazards between encoders are not tracked");
    u64 room = up(from->size, page);
    if (d->allocated + room > total()) return NULL;
    char *memory = acquire(room);
    if (!memory) return NULL;
    d->allocated += room;
    heap *h = (heap *)make(&MTLHeap);
    h->device = (device *)retain(&d->o);
    h->memory = memory, h->size = room, h->state = 2;
    return &h->o;
}
static void heap_dealloc(heap *h) {
    unemptied += h->state != 4;
    relinquish(h->memory, h->size);
    h->device->allocated -= h->size;
    autoreleased(&h->device->o);
}
static buffer *heap_buffer(heap *h, SEL cmd, u64 length, u64 options) {
    (void)cmd, (void)options;
    u64 room = up(length, 256);
    if (length == 0 || h->top + room > h->size) return NULL;
    buffer *b = (buffer *)make(&MTLBuffer);
    b->device = (device *)retain(&h->device->o);
    b->heap = (heap *)retain(&h->o);
    b->memory = h->memory + h->top;
    b->length = length, b->room = room, b->state = 2;
    memset(b->memory, 0xcd, room);
    h->top += room, h->used += room, h->buffers++;
    return b;
}
static u64 heap_size(heap *h) { return h->size; }
static u64 heap_used(heap *h) { return h->used; }
static u64 heap_available(heap *h, SEL cmd, u64 align) { return (void)cmd, (void)align, h->size - h->top; }
static u64 heap_purge(heap *h, SEL cmd, u64 to) { return (void)cmd, purge(&h->state, (long)to, h->memory, h->size); }
static const struct method heap_methods[] = {METHOD("newBufferWithLength:options:", heap_buffer),
                                             METHOD("size", heap_size),
                                             METHOD("usedSize", heap_used),
                                             METHOD("currentAllocatedSize", heap_size),
                                             METHOD("allocatedSize", heap_size),
                                             METHOD("maxAvailableSizeWithAlignment:", heap_available),
                                             METHOD("setPurgeableState:", heap_purge),
                                             METHOD("setLabel:", set_label),
                                             {NULL, NULL}};

typedef struct {
    object o;
} residency_descriptor;
static const struct method residency_descriptor_methods[] = {METHOD("setLabel:", set_label), {NULL, NULL}};
CLASS(MTLResidencySetDescriptor, residency_descriptor, residency_descriptor_methods, NULL);

enum { max_members = 64 };
typedef struct {
    object o;
    device *device;
    object *members[max_members]; // committed, retained
    object *changed[max_members]; // what they will be after a commit, retained
    long count, pending, requested;
} residency_set;

static u64 room_of(object *o) { return o->isa == &MTLHeap ? ((heap *)o)->size : ((buffer *)o)->room; }
static u64 set_allocated(residency_set *r) {
    u64 sum = 0;
    for (long i = 0; i < r->count; i++) sum += room_of(r->members[i]);
    return sum;
}
static u64 set_count(residency_set *r) { return (u64)r->count; }
static u64 set_add(residency_set *r, SEL cmd, object *o) {
    (void)cmd;
    if (o->isa != &MTLBuffer && o->isa != &MTLHeap) die("addAllocation: a %s", o->isa->name);
    if (r->pending == max_members) die("addAllocation: more than %d", max_members);
    r->changed[r->pending++] = retain(o);
    return JUNK;
}
static u64 set_remove(residency_set *r, SEL cmd, object *o) {
    (void)cmd;
    for (long i = 0; i < r->pending; i++)
        if (r->changed[i] == o) {
            r->changed[i] = r->changed[--r->pending];
            release(o);
            return JUNK;
        }
    return JUNK;
}
static u64 set_commit(residency_set *r) {
    object *old[max_members];
    long n = r->count;
    memcpy(old, r->members, sizeof old);
    r->count = r->pending;
    for (long i = 0; i < r->count; i++) r->members[i] = retain(r->changed[i]);
    while (n > 0) release(old[--n]);
    return JUNK;
}
static void set_dealloc(residency_set *r) {
    while (r->count > 0) release(r->members[--r->count]);
    while (r->pending > 0) release(r->changed[--r->pending]);
    release(&r->device->o);
}
static u64 set_request(residency_set *r) { return r->requested++, JUNK; }
static u64 set_end(residency_set *r) { return r->requested--, JUNK; }
static const struct method residency_methods[] = {METHOD("allocatedSize", set_allocated),
                                                  METHOD("allocationCount", set_count),
                                                  METHOD("addAllocation:", set_add),
                                                  METHOD("removeAllocation:", set_remove),
                                                  METHOD("commit", set_commit),
                                                  METHOD("requestResidency", set_request),
                                                  METHOD("endResidency", set_end),
                                                  {NULL, NULL}};
CLASS(MTLResidencySet, residency_set, residency_methods, set_dealloc);

object *device_residency(device *d, SEL cmd, object *descriptor, object **out) {
    (void)cmd;
    if (descriptor->isa != &MTLResidencySetDescriptor) die("newResidencySetWithDescriptor: a %s", descriptor->isa->name);
    const char *words = setting("residency_error", NULL);
    if (words) return fail(out, 1, words);
    residency_set *r = (residency_set *)make(&MTLResidencySet);
    r->device = (device *)retain(&d->o);
    return &r->o;
}
