// A fake of the Objective-C runtime and of Metal, on host memory: what
// metal/apple calls of both. See doc.go of package appletest.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t u64;
typedef struct object object;
typedef struct class_ class_;
typedef const struct selector *SEL;

struct method {
    const char *name;
    void *imp;
};

struct class_ {
    object *meta; // the class as a receiver: only alloc
    const char *name;
    long size;
    const struct method *methods; // ended by a null name
    void (*dealloc)(object *);
    long live;
};

struct object {
    class_ *isa;
    long refs;
    object *next; // of the same hash
};

// What methods without a result leave in the result register, and what stands
// above the byte of a BOOL: nobody may look at it.
#define JUNK 0xdeadbeefcafe0000ull
#define BOOLEAN(v) (JUNK | ((v) ? 1 : 0))

// runtime.c
object *make(class_ *);             // owned by the caller
object *retain(object *);           // null stays null
void release(object *);
object *autoreleased(object *);     // gives the caller's reference to the pool
bool is_live(const void *);
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
const char *setting(const char *key, const char *otherwise);
long number(const char *key, long otherwise);
bool planted(const char *key, long nth, long *code); // "key N [CODE]" at the nth
void *pool_push(void);
void pool_pop(void *);
bool responds(object *, const char *name);
const char *selector_name(SEL);

// work.c
void gpu_rest(void);
// memory.c: buffers and heaps that went without being emptied before
extern _Atomic long unemptied;

// device.c: what objc_getClass and the counters know, ended by null
extern class_ *const all_classes[];

// The kernels, linked beside (package shim).
struct gpumem_kernel {
    const char *name;
    int buffers, parameters, plane;
    void (*run)(void **, unsigned, unsigned);
};
extern const struct gpumem_kernel gpumem_kernels[];
