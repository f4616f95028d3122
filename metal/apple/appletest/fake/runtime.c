// The Objective-C runtime: selectors, live objects, autorelease pools of each
// thread, and the check of every message before its method runs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include "shapes.h" // generated from testdata/selectors.tsv: struct shape shapes[]

// ---- what the file beside the library says: "key value" a line

static char settings[32][2][512];
static int settings_used;

__attribute__((constructor)) static void read_settings(void) {
    Dl_info here;
    char name[4096];
    if (!dladdr((void *)read_settings, &here)) return;
    snprintf(name, sizeof name, "%s.conf", here.dli_fname);
    FILE *f = fopen(name, "r");
    if (!f) return;
    while (settings_used < 32 &&
           fscanf(f, "%63s %511[^\n]", settings[settings_used][0], settings[settings_used][1]) == 2)
        settings_used++;
    fclose(f);
}

const char *setting(const char *key, const char *otherwise) {
    for (int i = 0; i < settings_used; i++)
        if (strcmp(settings[i][0], key) == 0) return settings[i][1];
    return otherwise;
}

long number(const char *key, long otherwise) {
    const char *v = setting(key, NULL);
    return v ? atol(v) : otherwise;
}

bool planted(const char *key, long nth, long *code) {
    long at = 0, with = 0;
    int n = sscanf(setting(key, "0"), "%ld %ld", &at, &with);
    if (n < 1 || at == 0 || at != nth) return false;
    if (code && n == 2) *code = with;
    return true;
}

// withheld reports that "without" lists the selector: the system is too old.
static bool withheld(const char *name) {
    const char *list = setting("without", "");
    size_t n = strlen(name);
    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (at[n] == 0 || at[n] == ' ')) return true;
    return false;
}

void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "fake Metal: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    fflush(stderr);
    abort();
}

// ---- selectors

struct selector {
    char name[120];
    const struct shape *shape;
};

enum { max_selectors = 1024 };
static struct selector selectors[max_selectors];
static int selectors_used;
static pthread_mutex_t selectors_lock = PTHREAD_MUTEX_INITIALIZER;

SEL sel_registerName(const char *name) {
    pthread_mutex_lock(&selectors_lock);
    int i = 0;
    while (i < selectors_used && strcmp(selectors[i].name, name) != 0) i++;
    if (i == max_selectors || strlen(name) >= sizeof selectors[i].name) die("too many or too long selectors: %s", name);
    if (i == selectors_used) {
        strcpy(selectors[i].name, name);
        for (const struct shape *s = shapes; s->name; s++)
            if (strcmp(s->name, name) == 0) selectors[i].shape = s;
        selectors_used++;
    }
    pthread_mutex_unlock(&selectors_lock);
    return &selectors[i];
}

const char *selector_name(SEL s) {
    if (s < selectors || s >= selectors + selectors_used || ((char *)s - (char *)selectors) % sizeof *selectors != 0)
        die("%p is no selector", (void *)s);
    return s->name;
}

// ---- objects

enum { buckets = 1 << 14 };
static object *live[buckets];
static long live_count;
static atomic_long missing_pools, open_pools, calls;
static pthread_mutex_t objects_lock = PTHREAD_MUTEX_INITIALIZER;

static object **bucket(const void *p) { return &live[((uintptr_t)p >> 4) * 2654435761u >> 7 & (buckets - 1)]; }

bool is_live(const void *p) {
    pthread_mutex_lock(&objects_lock);
    object *o = *bucket(p);
    while (o && o != p) o = o->next;
    pthread_mutex_unlock(&objects_lock);
    return o != NULL;
}

object *make(class_ *c) {
    object *o = calloc(1, (size_t)c->size);
    o->isa = c;
    o->refs = 1;
    pthread_mutex_lock(&objects_lock);
    object **b = bucket(o);
    o->next = *b;
    *b = o;
    live_count++;
    c->live++;
    pthread_mutex_unlock(&objects_lock);
    return o;
}

object *retain(object *o) {
    if (o) __atomic_add_fetch(&o->refs, 1, __ATOMIC_SEQ_CST);
    return o;
}

void release(object *o) {
    if (!o) return;
    if (!is_live(o)) die("release of %p, which is no live object", (void *)o);
    if (__atomic_sub_fetch(&o->refs, 1, __ATOMIC_SEQ_CST) > 0) return;
    if (o->isa->dealloc) o->isa->dealloc(o);
    pthread_mutex_lock(&objects_lock);
    object **at = bucket(o);
    while (*at && *at != o) at = &(*at)->next;
    *at = o->next;
    live_count--;
    o->isa->live--;
    pthread_mutex_unlock(&objects_lock);
    memset(o, 0xdd, sizeof *o);
    free(o);
}

// ---- autorelease pools: a stack for each thread

enum { max_depth = 64 };
static __thread struct {
    object **objects;
    long used, room;
    struct { u64 token; long from; } pools[max_depth];
    int depth;
} thread;
static atomic_ullong tokens = 1;

object *autoreleased(object *o) {
    if (!o) return o;
    if (thread.depth == 0) {
        missing_pools++; // the real one's stays until its thread ends
        const char *debug = getenv("OBJC_DEBUG_MISSING_POOLS");
        if (debug && strcmp(debug, "YES") == 0) fprintf(stderr, "objc[%d]: MISSING POOLS: a %s\n", (int)getpid(), o->isa->name);
        return o;
    }
    if (thread.used == thread.room) {
        thread.room = thread.room ? 2 * thread.room : 64;
        thread.objects = realloc(thread.objects, (size_t)thread.room * sizeof *thread.objects);
    }
    thread.objects[thread.used++] = o;
    return o;
}

void *pool_push(void) {
    if (thread.depth == max_depth) die("more than %d autorelease pools in one thread", max_depth);
    u64 token = tokens++ << 4;
    thread.pools[thread.depth].token = token;
    thread.pools[thread.depth++].from = thread.used;
    open_pools++;
    return (void *)(uintptr_t)token;
}

void pool_pop(void *pool) {
    if (thread.depth == 0 || thread.pools[thread.depth - 1].token != (u64)(uintptr_t)pool)
        die("autorelease pool %p is popped on another thread or out of order", pool);
    long from = thread.pools[thread.depth - 1].from;
    while (thread.used > from) release(thread.objects[--thread.used]); // these may autorelease more
    thread.depth--;
    open_pools--;
}

void *objc_autoreleasePoolPush(void) { return pool_push(); }
void objc_autoreleasePoolPop(void *pool) { pool_pop(pool); }

object *objc_getClass(const char *name) {
    for (class_ *const *c = all_classes; *c; c++)
        if (strcmp((*c)->name, name) == 0) return (object *)*c;
    return NULL;
}

static class_ *as_class(const void *p) {
    for (class_ *const *c = all_classes; *c; c++)
        if (*c == p) return *c;
    return NULL;
}

// ---- messages

static u64 object_release(object *o) {
    release(o);
    return JUNK;
}
static object *object_retain(object *o) { return retain(o); }
static object *object_autorelease(object *o) { return autoreleased(o); }
static object *object_init(object *o) { return o; }
static object *class_alloc(class_ *c) { return make(c); }
static u64 object_responds(object *o, SEL cmd, SEL asked) {
    (void)cmd;
    return BOOLEAN(!number("forwards", 0) && responds(o, selector_name(asked)));
}

// A signature is nothing that anybody may send a message to.
static void *object_signature(object *o, SEL cmd, SEL asked) {
    (void)cmd;
    return responds(o, selector_name(asked)) ? (void *)asked : NULL;
}

static const struct method object_methods[] = {
    {"methodSignatureForSelector:", object_signature},
    {"release", object_release},       {"retain", object_retain}, {"autorelease", object_autorelease}, {"init", object_init},
    {"respondsToSelector:", object_responds}, {NULL, NULL},
};

static void *find(const struct method *m, const char *name) {
    while (m->name && strcmp(m->name, name) != 0) m++;
    return m->imp;
}

static void *method_of(object *o, const char *name) {
    if (withheld(name)) return NULL;
    void *imp = find(o->isa->methods, name);
    return imp ? imp : find(object_methods, name);
}

bool responds(object *o, const char *name) { return method_of(o, name) != NULL; }

#if defined(__x86_64__)
enum { registers = 6 };
#else
enum { registers = 8 };
#endif

// check_argument dies unless the words of an argument can be of that kind. It
// returns how many integer registers they take.
static int check_argument(const char *where, int n, char kind, u64 word) {
    switch (kind) {
    case 'o':
        if (word && !is_live((void *)word)) die("%s: argument %d, %#lx, is no live object", where, n, (long)word);
        return 1;
    case 'e':
    case 'p':
        if (word && word < 4096) die("%s: argument %d, %#lx, is no pointer", where, n, (long)word);
        return 1;
    case 'q':
        selector_name((SEL)word);
        return 1;
    case 'b':
        if (word > 1) die("%s: argument %d, %#lx, is no BOOL", where, n, (long)word);
        return 1;
    case 'u':
    case 'i':
        return 1;
    case 'r':
        return 2;
    }
    die("%s: argument %d is of kind %c, which this fake does not know", where, n, kind);
}

static void check_size(const char *where, int n, const u64 *size) {
    for (int i = 0; i < 3; i++)
        if (size[i] == 0 || size[i] > 1ull << 32) die("%s: argument %d is no MTLSize: %lu", where, n, (long)size[i]);
}

// check_shape holds the registers of a call against the table. A caller through
// purego leaves the registers that it does not use at zero, which tells when it
// passes too much.
static void check_shape(const char *where, const struct shape *s, const u64 *ints, const u64 *stack, int variant) {
    int wanted = 0;
#if defined(__x86_64__)
    wanted = s->result == 's'; // more than 16 bytes
#endif
    if (variant != wanted) die("%s: sent with variant %d of objc_msgSend, want %d", where, variant, wanted);
    int used = 2 + (variant == 1);
    (void)stack;
    for (int i = 0; s->args[i]; i++) {
        if (s->args[i] == 's') {
#if defined(__x86_64__)
            check_size(where, i, stack);
            stack += 3;
#else
            check_size(where, i, (const u64 *)ints[used++]);
#endif
            continue;
        }
        if (used >= registers) die("%s: more arguments than registers", where);
        used += check_argument(where, i, s->args[i], ints[used]);
    }
    for (; used < registers; used++)
        if (ints[used] != 0) die("%s: register %d holds %#lx, but there is no such argument", where, used, (long)ints[used]);
}

// fake_lookup checks a message and returns its method.
void *fake_lookup(const u64 *ints, const u64 *stack, int variant) {
    calls++;
    object *self = (object *)ints[variant == 1];
    SEL cmd = (SEL)ints[1 + (variant == 1)];
    const char *name = selector_name(cmd);
    char where[256];
    if (!self) die("%s is sent to nil", name);
    class_ *c = as_class(self);
    if (!c && !is_live(self)) die("%s is sent to %p, which is no live object", name, (void *)self);
    snprintf(where, sizeof where, "%c[%s %s]", c ? '+' : '-', c ? c->name : self->isa->name, name);
    void *imp = c ? strcmp(name, "alloc") == 0 ? (void *)class_alloc : NULL : method_of(self, name);
    if (!imp) die("%s: unrecognized selector", where);
    if (!cmd->shape) die("%s: not in the table of Apple's interface", where);
    check_shape(where, cmd->shape, ints, stack, variant);
    return imp;
}

// gpumem_fake_count is what exists: "objects", "pools" that are open, "missing"
// (autoreleases without a pool), "calls", "unemptied" (buffers and heaps that went
// with their pages), or the live objects of a class.
long gpumem_fake_count(const char *what) {
    gpu_rest();
    if (strcmp(what, "missing") == 0) return missing_pools;
    if (strcmp(what, "pools") == 0) return open_pools;
    if (strcmp(what, "calls") == 0) return calls;
    if (strcmp(what, "unemptied") == 0) return unemptied;
    long n = -1;
    pthread_mutex_lock(&objects_lock);
    if (strcmp(what, "objects") == 0) n = live_count;
    class_ *c = (class_ *)objc_getClass(what);
    if (c) n = c->live;
    pthread_mutex_unlock(&objects_lock);
    return n;
}
