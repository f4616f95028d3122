/*
 * Stands in for the parts of IOKit and CoreFoundation that package apple calls,
 * and counts the objects that are not given back. NAME.conf says which GPUs
 * there are; a line is "gpu CLASS", followed by its lines "model TEXT",
 * "statistic VALUE KEY", "client PID NAME NANOSECONDS" and "odd" (a client
 * without a creator). "changing N" lets the first N lists change while they are
 * read.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERN_SUCCESS = 0, KERN_INVALID_ARGUMENT = 4, MOST = 32 };

struct client { long pid; char name[64]; long long ns; int odd; };
struct gpu {
	char class[64], model[64];
	struct { long long value; char key[64]; } statistics[MOST];
	struct client clients[MOST];
	int n_statistics, n_clients;
};
static struct gpu gpus[MOST];
static int n_gpus, changing, loaded;

static void load(void)
{
	char path[4096], line[512];
	Dl_info self;
	if (loaded || !dladdr((void *)load, &self))
		return;
	loaded = 1;
	snprintf(path, sizeof path, "%s.conf", self.dli_fname);
	FILE *f = fopen(path, "r");
	if (!f)
		return;
	struct gpu *g = NULL;
	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		struct client c = {0};
		if (!strncmp(line, "gpu ", 4) && n_gpus < MOST) {
			g = &gpus[n_gpus++];
			snprintf(g->class, sizeof g->class, "%.63s", line + 4);
		} else if (sscanf(line, "changing %d", &changing) == 1) {
		} else if (g && !strncmp(line, "model ", 6)) {
			snprintf(g->model, sizeof g->model, "%.63s", line + 6);
		} else if (g && g->n_statistics < MOST &&
			   sscanf(line, "statistic %lld %63[^\n]", &g->statistics[g->n_statistics].value, g->statistics[g->n_statistics].key) == 2) {
			g->n_statistics++;
		} else if (g && g->n_clients < MOST && (sscanf(line, "client %ld %63s %lld", &c.pid, c.name, &c.ns) == 3 || (c.odd = !strcmp(line, "odd")))) {
			g->clients[g->n_clients++] = c;
		}
	}
	fclose(f);
}

/* Objects: an entry is a GPU (kind 0) or a client of it, an iterator lists one or the other. */
struct object { int used, iterator, gpu, client, next, valid; };
static struct object objects[256];

static uint32_t make(struct object o)
{
	for (uint32_t i = 1; i < 256; i++)
		if (!objects[i].used) {
			objects[i] = o;
			objects[i].used = 1;
			return i;
		}
	abort(); /* objects leak */
}

static struct object *get(uint32_t i)
{
	if (i == 0 || i > 255 || !objects[i].used)
		abort(); /* used after it was given back */
	return &objects[i];
}

static int dictionaries;
static char *live[256]; /* CF objects */

static void *keep(char *p)
{
	for (int i = 0; i < 256; i++)
		if (!live[i])
			return live[i] = p;
	abort();
}

int fake_objects(void)
{
	int n = dictionaries;
	for (int i = 0; i < 256; i++)
		n += objects[i].used + (live[i] != NULL);
	return n;
}

void *IOServiceMatching(const char *name)
{
	load();
	dictionaries++;
	return strcmp(name, "IOAccelerator") ? NULL : &dictionaries;
}

int IOServiceGetMatchingServices(uint32_t port, void *matching, uint32_t *out)
{
	if (port != 0 || matching != &dictionaries)
		return KERN_INVALID_ARGUMENT;
	dictionaries--; /* consumed */
	*out = make((struct object){ .iterator = 1, .gpu = -1, .valid = changing-- <= 0 });
	return KERN_SUCCESS;
}

int IORegistryEntryGetChildIterator(uint32_t entry, const char *plane, uint32_t *out)
{
	struct object *o = get(entry);
	if (strcmp(plane, "IOService") || o->iterator)
		return KERN_INVALID_ARGUMENT;
	*out = make((struct object){ .iterator = 1, .gpu = o->gpu, .valid = 1 });
	return KERN_SUCCESS;
}

uint32_t IOIteratorNext(uint32_t iterator)
{
	struct object *it = get(iterator);
	if (!it->iterator)
		abort();
	if (it->gpu < 0)
		return it->next < n_gpus ? make((struct object){ .gpu = it->next++, .client = -1 }) : 0;
	return it->next < gpus[it->gpu].n_clients ? make((struct object){ .gpu = it->gpu, .client = it->next++ }) : 0;
}

uint32_t IOIteratorIsValid(uint32_t iterator) { return get(iterator)->valid; }

int IOObjectRelease(uint32_t object)
{
	get(object)->used = 0;
	return KERN_SUCCESS;
}

int IOObjectGetClass(uint32_t object, char *name)
{
	struct object *o = get(object);
	snprintf(name, 128, "%s", o->client < 0 ? gpus[o->gpu].class : "AGXDeviceUserClient");
	return KERN_SUCCESS;
}

int IORegistryEntryGetRegistryEntryID(uint32_t entry, uint64_t *id)
{
	*id = 0x100000000ull + get(entry)->gpu;
	return KERN_SUCCESS;
}

/* A property list value is its own text in XML. */
void *IORegistryEntryCreateCFProperty(uint32_t entry, const char *key, void *allocator, uint32_t options)
{
	struct object *o = get(entry);
	struct gpu *g = &gpus[o->gpu];
	char text[8192] = "";
	size_t n = 0;
	if (allocator || options)
		abort();
	if (o->client >= 0) {
		struct client *c = &g->clients[o->client];
		if (c->odd)
			return NULL;
		if (!strcmp(key, "IOUserClientCreator"))
			snprintf(text, sizeof text, "<string>pid %ld, %s</string>", c->pid, c->name);
		else if (!strcmp(key, "AppUsage"))
			snprintf(text, sizeof text, "<array><dict><key>API</key><string>Metal</string><key>accumulatedGPUTime</key><integer>%lld</integer></dict></array>", c->ns);
	} else if (!strcmp(key, "model") && g->model[0]) {
		snprintf(text, sizeof text, "<string>%s</string>", g->model);
	} else if (!strcmp(key, "PerformanceStatistics") && g->n_statistics) {
		n += snprintf(text + n, sizeof text - n, "<dict>");
		for (int i = 0; i < g->n_statistics; i++)
			n += snprintf(text + n, sizeof text - n, "<key>%s</key><integer>%lld</integer>", g->statistics[i].key, g->statistics[i].value);
		snprintf(text + n, sizeof text - n, "</dict>");
	}
	return text[0] ? keep(strdup(text)) : NULL;
}

void *CFStringCreateWithCString(void *allocator, const char *text, uint32_t encoding)
{
	if (allocator || encoding != 0x08000100)
		abort();
	return keep(strdup(text));
}

void *CFPropertyListCreateData(void *allocator, const char *value, long format, unsigned long options, void **error)
{
	char *text;
	if (allocator || format != 100 || options || error)
		abort();
	if (asprintf(&text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" "
			    "\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n%s\n</plist>\n", value) < 0)
		abort();
	return keep(text);
}

long CFDataGetLength(const char *data) { return strlen(data); }

struct range { long location, length; };

void CFDataGetBytes(const char *data, struct range r, uint8_t *out) { memcpy(out, data + r.location, r.length); }

void CFRelease(void *object)
{
	for (int i = 0; i < 256; i++)
		if (live[i] == object) {
			free(live[i]);
			live[i] = NULL;
			return;
		}
	abort(); /* given back twice, or never had */
}
