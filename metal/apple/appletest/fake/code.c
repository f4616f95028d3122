// Libraries, functions and pipelines.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metal.h"

typedef struct {
    object o;
    device *device;
    char *source;
} library;
typedef struct {
    object o;
    const struct gpumem_kernel *kernel;
} function;
typedef struct {
    object o;
    bool safe;
} compile_options;

static u64 options_mode(compile_options *c, SEL cmd, long mode) { return (void)cmd, c->safe = mode == 0, JUNK; }
static u64 options_fast(compile_options *c, SEL cmd, u64 fast) { return (void)cmd, c->safe = !fast, JUNK; }
static const struct method options_methods[] = {METHOD("setMathMode:", options_mode), METHOD("setFastMathEnabled:", options_fast), {NULL, NULL}};
CLASS(MTLCompileOptions, compile_options, options_methods, NULL);

static const struct method function_methods[] = {{NULL, NULL}};
CLASS(MTLFunction, function, function_methods, NULL);

static function *library_function(library *l, SEL cmd, string *name) {
    (void)cmd;
    char declared[128];
    snprintf(declared, sizeof declared, "kernel void %s(", name->text);
    if (!strstr(l->source, declared)) return NULL;
    for (const struct gpumem_kernel *k = gpumem_kernels; k->name; k++)
        if (strcmp(k->name, name->text) == 0) {
            function *f = (function *)make(&MTLFunction);
            f->kernel = k;
            return f;
        }
    return NULL;
}
static void library_dealloc(library *l) {
    free(l->source);
    release(&l->device->o);
}
static const struct method library_methods[] = {METHOD("newFunctionWithName:", library_function), {NULL, NULL}};
CLASS(MTLLibrary, library, library_methods, library_dealloc);

object *device_library(device *d, SEL cmd, string *source, object *options, object **out) {
    (void)cmd;
    const char *words = setting("compile_error", NULL);
    if (words) return fail(out, 3, words);
    if (!options || options->isa != &MTLCompileOptions || !((compile_options *)options)->safe) die("newLibraryWithSource: compiled with fast math, which knows no NaN");
    library *l = (library *)make(&MTLLibrary);
    l->device = (device *)retain(&d->o);
    l->source = strdup(source->text);
    return &l->o;
}

u64 pipeline_threads(pipeline *p) { return (void)p, (u64)number("group", 1024); }
static u64 pipeline_width(pipeline *p) { return (void)p, 32; }
static void pipeline_dealloc(pipeline *p) { release(&p->device->o); }
static const struct method pipeline_methods[] = {
    METHOD("maxTotalThreadsPerThreadgroup", pipeline_threads), METHOD("threadExecutionWidth", pipeline_width), {NULL, NULL}};
CLASS(MTLComputePipelineState, pipeline, pipeline_methods, pipeline_dealloc);

object *device_pipeline(device *d, SEL cmd, object *of, object **out) {
    (void)cmd;
    if (of->isa != &MTLFunction) die("newComputePipelineStateWithFunction: a %s", of->isa->name);
    const char *words = setting("pipeline_error", NULL);
    if (words) return fail(out, 2, words);
    pipeline *p = (pipeline *)make(&MTLComputePipelineState);
    p->device = (device *)retain(&d->o);
    p->kernel = ((function *)of)->kernel;
    return &p->o;
}
