// Queues, command buffers and encoders, and the GPU: a thread that works
// through the committed command buffers of all queues. The kernels are the C++
// reading of kernels.metal.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metal.h"

typedef struct {
    object *buffer;
    u64 offset;
    unsigned char *bytes; // owned
    u64 length;
} binding;

typedef struct {
    const struct gpumem_kernel *kernel;
    unsigned width, height;
    binding args[max_arguments];
} dispatch;

typedef struct {
    object o;
    device *device;
    u64 limit;
    atomic_long outstanding;
    object *sets[8];
    long set_count;
} queue;

typedef struct command {
    object o;
    queue *queue;
    long status; // under gpu_lock once it is committed
    bool open;
    dispatch *dispatches;
    long count, room, retained_count, retained_room;
    object **retained;
    object *error;
    struct command *next;
} command;

typedef struct {
    object o;
    command *command;
    pipeline *pipeline;
    binding args[max_arguments];
    bool ended;
} encoder;

static pthread_mutex_t gpu_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gpu_changed = PTHREAD_COND_INITIALIZER;
static command *gpu_first, **gpu_last = &gpu_first;
static bool gpu_started;
static bool gpu_busy;
static long gpu_done; // command buffers, of all queues

static void keep(command *c, object *o) {
    if (c->retained_count == c->retained_room) {
        c->retained_room = c->retained_room ? 2 * c->retained_room : 16;
        c->retained = realloc(c->retained, (size_t)c->retained_room * sizeof *c->retained);
    }
    c->retained[c->retained_count++] = retain(o);
}

static void let_go(command *c) {
    while (c->retained_count > 0) release(c->retained[--c->retained_count]);
    free(c->retained);
    c->retained = NULL;
    for (long i = 0; i < c->count; i++)
        for (int j = 0; j < max_arguments; j++) free(c->dispatches[i].args[j].bytes);
    free(c->dispatches);
    c->dispatches = NULL;
    c->count = 0;
}

static void run(const dispatch *d) {
    void *args[max_arguments] = {NULL};
    for (int i = 0; i < d->kernel->buffers + d->kernel->parameters; i++) {
        const binding *b = &d->args[i];
        args[i] = b->buffer ? ((buffer *)b->buffer)->memory + b->offset : (void *)b->bytes;
    }
    d->kernel->run(args, d->width, d->height);
}

static void *gpu(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&gpu_lock);
        while (!gpu_first) pthread_cond_wait(&gpu_changed, &gpu_lock);
        command *c = gpu_first;
        gpu_first = c->next;
        if (!gpu_first) gpu_last = &gpu_first;
        gpu_busy = true;
        c->status = 3;
        pthread_mutex_unlock(&gpu_lock);

        void *pool = pool_push();
        long code = 0;
        object *failed = NULL;
        if (planted("command_error_at", gpu_done + 1, &code)) {
            char words[64];
            snprintf(words, sizeof words, "the fake's words for error %ld", code);
            fail(&failed, code, words);
            retain(failed);
        } else if (!number("zeros", 0)) {
            for (long i = 0; i < c->count; i++) run(&c->dispatches[i]);
        }
        long lag = number("lag_us", 0);
        if (lag > 0) usleep((useconds_t)lag);
        let_go(c);

        pthread_mutex_lock(&gpu_lock);
        c->error = failed;
        c->status = failed ? 5 : 4;
        c->queue->outstanding--;
        gpu_done++;
        pthread_cond_broadcast(&gpu_changed);
        pthread_mutex_unlock(&gpu_lock);
        release(&c->o);
        pool_pop(pool);
        pthread_mutex_lock(&gpu_lock);
        gpu_busy = false;
        pthread_cond_broadcast(&gpu_changed);
        pthread_mutex_unlock(&gpu_lock);
    }
    return NULL;
}

// gpu_rest waits until the GPU has nothing to do and has let everything go.
void gpu_rest(void) {
    pthread_mutex_lock(&gpu_lock);
    while (gpu_busy || gpu_first) pthread_cond_wait(&gpu_changed, &gpu_lock);
    pthread_mutex_unlock(&gpu_lock);
}

// start_gpu runs under gpu_lock. Signals are the program's, not this thread's.
static void start_gpu(void) {
    if (gpu_started) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    if (pthread_create(&thread, NULL, gpu, NULL) != 0) die("no thread for the GPU");
    pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    gpu_started = true;
}

static void command_dealloc(command *c) {
    if (c->status == 0) {
        let_go(c);
        c->queue->outstanding--;
    } else if (c->status < 4)
        die("a command buffer goes while it is in flight");
    if (c->error) release(c->error);
    release(&c->queue->o);
}

static u64 command_commit(command *c) {
    if (c->open) die("commit: an encoder is open");
    pthread_mutex_lock(&gpu_lock);
    if (c->status != 0) die("commit: committed before");
    start_gpu();
    c->status = 2;
    retain(&c->o);
    *gpu_last = c;
    gpu_last = &c->next;
    pthread_cond_broadcast(&gpu_changed);
    pthread_mutex_unlock(&gpu_lock);
    return JUNK;
}
static u64 command_wait(command *c) {
    pthread_mutex_lock(&gpu_lock);
    if (c->status < 2) die("waitUntilCompleted: not committed");
    while (c->status < 4) pthread_cond_wait(&gpu_changed, &gpu_lock);
    pthread_mutex_unlock(&gpu_lock);
    return JUNK;
}
static u64 command_status(command *c) {
    pthread_mutex_lock(&gpu_lock);
    long s = c->status;
    pthread_mutex_unlock(&gpu_lock);
    return (u64)s;
}
static object *command_error(command *c) {
    pthread_mutex_lock(&gpu_lock);
    object *e = c->error;
    pthread_mutex_unlock(&gpu_lock);
    return autoreleased(retain(e));
}

static const struct method encoder_methods[];
static void encoder_dealloc(encoder *);
CLASS(MTLComputeCommandEncoder, encoder, encoder_methods, encoder_dealloc);

static encoder *command_encoder(command *c) {
    if (c->status != 0 || c->open) die("computeCommandEncoder: the command buffer is committed, or another encoder is open");
    if (planted("encoder_nil_at", ++c->queue->device->encoders, NULL)) return NULL;
    c->open = true;
    encoder *e = (encoder *)make(&MTLComputeCommandEncoder);
    e->command = (command *)retain(&c->o);
    return (encoder *)autoreleased(&e->o);
}
static const struct method command_methods[] = {METHOD("computeCommandEncoder", command_encoder),
                                                METHOD("commit", command_commit),
                                                METHOD("waitUntilCompleted", command_wait),
                                                METHOD("status", command_status),
                                                METHOD("error", command_error),
                                                {NULL, NULL}};
CLASS(MTLCommandBuffer, command, command_methods, command_dealloc);

static void encoder_dealloc(encoder *e) {
    if (!e->ended) die("an encoder goes without endEncoding");
    for (int i = 0; i < max_arguments; i++) free(e->args[i].bytes);
    release(&e->command->o);
}
static void encoding(encoder *e, const char *what) {
    if (e->ended) die("%s: after endEncoding", what);
}
static u64 encoder_end(encoder *e) {
    encoding(e, "endEncoding");
    e->ended = true;
    e->command->open = false;
    return JUNK;
}
static u64 encoder_pipeline(encoder *e, SEL cmd, pipeline *p) {
    (void)cmd;
    encoding(e, "setComputePipelineState");
    if (p->o.isa != &MTLComputePipelineState) die("setComputePipelineState: a %s", p->o.isa->name);
    e->pipeline = p;
    keep(e->command, &p->o);
    return JUNK;
}
static binding *slot(encoder *e, u64 index) {
    if (index >= max_arguments) die("argument index %lu", (long)index);
    free(e->args[index].bytes);
    e->args[index] = (binding){0};
    return &e->args[index];
}
static u64 encoder_buffer(encoder *e, SEL cmd, buffer *b, u64 offset, u64 index) {
    (void)cmd;
    encoding(e, "setBuffer");
    if (b->o.isa != &MTLBuffer || offset >= b->length) die("setBuffer: a %s, offset %lu", b->o.isa->name, (long)offset);
    *slot(e, index) = (binding){&b->o, offset, NULL, b->length - offset};
    keep(e->command, &b->o);
    return JUNK;
}
static u64 encoder_bytes(encoder *e, SEL cmd, const void *p, u64 length, u64 index) {
    (void)cmd;
    encoding(e, "setBytes");
    if (length == 0 || length > max_inline) die("setBytes: %lu B", (long)length);
    binding *b = slot(e, index);
    b->bytes = malloc(length);
    b->length = length;
    memcpy(b->bytes, p, length);
    return JUNK;
}
static u64 encoder_dispatch(encoder *e, SEL cmd, size grid, size group) {
    (void)cmd;
    encoding(e, "dispatchThreads");
    if (!e->pipeline) die("dispatchThreads: no pipeline");
    if (group.width * group.height * group.depth > pipeline_threads(e->pipeline)) die("dispatchThreads: %lu x %lu threads in a group", (long)group.width, (long)group.height);
    const struct gpumem_kernel *k = e->pipeline->kernel;
    if (grid.depth != 1 || (!k->plane && grid.height != 1)) die("dispatchThreads: %s has no such dimension", k->name);
    command *c = e->command;
    if (c->count == c->room) {
        c->room = c->room ? 2 * c->room : 8;
        c->dispatches = realloc(c->dispatches, (size_t)c->room * sizeof *c->dispatches);
    }
    dispatch *d = &c->dispatches[c->count++];
    *d = (dispatch){k, (unsigned)grid.width, (unsigned)grid.height, {{0}}};
    for (int i = 0; i < k->buffers + k->parameters; i++) {
        d->args[i] = e->args[i];
        if (!e->args[i].buffer && !e->args[i].bytes) die("dispatchThreads: argument %d of %s is not bound", i, k->name);
        if (e->args[i].bytes) d->args[i].bytes = memcpy(malloc(e->args[i].length), e->args[i].bytes, e->args[i].length);
        if (i >= k->buffers && (e->args[i].offset % 4 || e->args[i].length < 4)) die("dispatchThreads: argument %d of %s is no aligned parameter", i, k->name);
    }
    return JUNK;
}
static const struct method encoder_methods[] = {METHOD("setComputePipelineState:", encoder_pipeline),
                                                METHOD("setBuffer:offset:atIndex:", encoder_buffer),
                                                METHOD("setBytes:length:atIndex:", encoder_bytes),
                                                METHOD("dispatchThreads:threadsPerThreadgroup:", encoder_dispatch),
                                                METHOD("endEncoding", encoder_end),
                                                {NULL, NULL}};

// The real one waits when its maximum is outstanding; here nobody would ever
// end that wait.
static command *queue_command(queue *q) {
    if (planted("command_nil_at", ++q->device->commands, NULL)) return NULL;
    if ((u64)++q->outstanding > q->limit) die("commandBuffer: %lu are outstanding, it would wait", (long)q->limit);
    command *c = (command *)make(&MTLCommandBuffer);
    c->queue = (queue *)retain(&q->o);
    return (command *)autoreleased(&c->o);
}
static u64 queue_add(queue *q, SEL cmd, object *set) {
    (void)cmd;
    if (set->isa != &MTLResidencySet || q->set_count == 8) die("addResidencySet: a %s, after %ld", set->isa->name, q->set_count);
    q->sets[q->set_count++] = retain(set);
    return JUNK;
}
static u64 queue_remove(queue *q, SEL cmd, object *set) {
    (void)cmd;
    for (long i = 0; i < q->set_count; i++)
        if (q->sets[i] == set) {
            q->sets[i] = q->sets[--q->set_count];
            release(set);
            break;
        }
    return JUNK;
}
static void queue_dealloc(queue *q) {
    while (q->set_count > 0) release(q->sets[--q->set_count]);
    release(&q->device->o);
}
static const struct method queue_methods[] = {METHOD("commandBuffer", queue_command), METHOD("addResidencySet:", queue_add),
                                              METHOD("removeResidencySet:", queue_remove), {NULL, NULL}};
CLASS(MTLCommandQueue, queue, queue_methods, queue_dealloc);

object *device_queue(device *d, SEL cmd, u64 limit) {
    (void)cmd;
    if (limit == 0 || limit > 4096) die("newCommandQueueWithMaxCommandBufferCount: %lu", (long)limit);
    if (planted("queue_nil_at", ++d->queues, NULL)) return NULL;
    queue *q = (queue *)make(&MTLCommandQueue);
    q->device = (device *)retain(&d->o);
    q->limit = limit;
    return &q->o;
}
