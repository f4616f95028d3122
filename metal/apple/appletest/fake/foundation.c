// Strings, errors and arrays.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metal.h"

static void string_dealloc(string *s) { free(s->text); }
static string *string_init(string *s, SEL cmd, const char *text, u64 encoding) {
    (void)cmd;
    if (encoding != 4) die("NSString: encoding %lu is not UTF-8", (long)encoding);
    s->text = strdup(text);
    return s;
}
static const char *string_utf8(string *s) { return s->text; }
static const struct method string_methods[] = {
    METHOD("initWithCString:encoding:", string_init), METHOD("UTF8String", string_utf8), {NULL, NULL}};
CLASS(NSString, string, string_methods, string_dealloc);

object *text_of(const char *text) {
    string *s = (string *)make(&NSString);
    s->text = strdup(text);
    return autoreleased(&s->o);
}

typedef struct {
    object o;
    long code;
    char words[512];
} error;

static long error_code(error *e) { return e->code; }
static object *error_words(error *e) { return text_of(e->words); }
static const struct method error_methods[] = {METHOD("code", error_code), METHOD("localizedDescription", error_words), {NULL, NULL}};
CLASS(NSError, error, error_methods, NULL);

// fail leaves an autoreleased error.
void *fail(object **out, long code, const char *words) {
    error *e = (error *)make(&NSError);
    e->code = code;
    snprintf(e->words, sizeof e->words, "%s", words);
    autoreleased(&e->o);
    if (out) *out = &e->o;
    return NULL;
}

static void array_dealloc(array *a) {
    while (a->count > 0) release(a->members[--a->count]);
}
static u64 array_count(array *a) { return (u64)a->count; }
static object *array_at(array *a, SEL cmd, u64 i) {
    (void)cmd;
    if (i >= (u64)a->count) die("NSArray: index %lu of %ld", (long)i, a->count);
    return a->members[i];
}
static const struct method array_methods[] = {METHOD("count", array_count), METHOD("objectAtIndex:", array_at), {NULL, NULL}};
CLASS(NSArray, array, array_methods, array_dealloc);

u64 set_label(object *o, SEL cmd, object *label) {
    (void)o, (void)cmd;
    if (label && label->isa != &NSString) die("setLabel: with a %s", label->isa->name);
    return JUNK;
}
