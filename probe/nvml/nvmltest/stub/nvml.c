/* A stand-in for NVIDIA's management library, for tests. It reads what to say
 * from a text file beside itself (PATH.conf), so that every copy of the
 * library is a machine of its own. Layouts are written from their published
 * offsets; no header of NVIDIA's is used.
 *
 * -DONLY_V1 exports the unsuffixed process lists (16-byte entries) and the
 * older memory call; -DONLY_V2 the _v2 lists; -DNO_HANDLE leaves the call out
 * that everything needs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT = 7 };
enum { MAX_DEVICES = 16, MAX_PARTS = 8, MAX_ENTRIES = 16384 };

typedef struct {
	uint32_t pid;
	uint64_t used;
	uint32_t gpu, compute;
	char list; /* c, g, m */
	int device;
	uint64_t peak, time;
	int running;
} entry_t;

typedef struct {
	int is_part, index, mig, accounting, memory_code, list_code;
	char name[96], uuid[96], pci[32];
	uint64_t total, used, free, reserved;
	uint32_t gpu, compute;
	uint32_t vital[7]; /* busy, memory busy, Celsius, mW, limit in mW, MHz, memory's MHz */
} unit_t;

static struct {
	int initialized, init_code, devices, parts, entries, peaks, reload;
	long calls, lost_after, slow_ms, grow, growbytes, lie;
	int lost_code;
	char driver[80];
	unit_t device[MAX_DEVICES], part[MAX_PARTS];
	int part_of[MAX_PARTS];
	entry_t entry[MAX_ENTRIES], peak[64];
} S;

static uint64_t bytes_of(const char *s) { return strcmp(s, "na") == 0 ? UINT64_MAX : strtoull(s, NULL, 10); }

static void line_of(char *line) {
	char a[96] = "", b[96] = "", c[96] = "", d[96] = "", e[96] = "", f[96] = "", g[96] = "", h[96] = "";
	char key[32] = "";
	int n = sscanf(line, "%31s %95s %95s %95s %95s %95s %95s %95s %95s", key, a, b, c, d, e, f, g, h);
	if (n < 2) return;
	if (!strcmp(key, "init")) S.init_code = atoi(a);
	else if (!strcmp(key, "driver")) snprintf(S.driver, sizeof S.driver, "%.79s", a);
	else if (!strcmp(key, "slow")) S.slow_ms = atol(a);
	else if (!strcmp(key, "lost_after")) { S.lost_after = atol(a); S.lost_code = n > 2 ? atoi(b) : 15; }
	else if (!strcmp(key, "grow")) S.grow = atol(a);
	else if (!strcmp(key, "growbytes")) S.growbytes = atol(a);
	else if (!strcmp(key, "lie")) S.lie = atol(a);
	else if (!strcmp(key, "reload")) S.reload = atoi(a);
	else if (!strcmp(key, "device") && S.devices < MAX_DEVICES) {
		unit_t *u = &S.device[S.devices];
		u->index = S.devices++;
		memset(u->vital, 0xff, sizeof u->vital);
		snprintf(u->name, sizeof u->name, "%s", a);
		snprintf(u->uuid, sizeof u->uuid, "%s", b);
		snprintf(u->pci, sizeof u->pci, "%.31s", c);
		u->total = bytes_of(d); u->used = bytes_of(e); u->reserved = bytes_of(f);
		u->free = u->total == UINT64_MAX ? UINT64_MAX : u->total - u->used - u->reserved;
	} else if (!strcmp(key, "vitals")) {
		const char *v[7] = {b, c, d, e, f, g, h};
		for (int i = 0; i < 7; i++)
			if (strcmp(v[i], "na")) S.device[atoi(a) % MAX_DEVICES].vital[i] = strtoul(v[i], NULL, 10);
	} else if (!strcmp(key, "memory_code")) S.device[atoi(a) % MAX_DEVICES].memory_code = atoi(b);
	else if (!strcmp(key, "list_code")) S.device[atoi(a) % MAX_DEVICES].list_code = atoi(b);
	else if (!strcmp(key, "accounting")) S.device[atoi(a) % MAX_DEVICES].accounting = 1;
	else if (!strcmp(key, "part") && S.parts < MAX_PARTS) {
		unit_t *u = &S.part[S.parts];
		S.part_of[S.parts++] = atoi(a);
		S.device[atoi(a) % MAX_DEVICES].mig = 1;
		u->is_part = 1; u->index = atoi(a);
		u->gpu = atoi(b); u->compute = atoi(c);
		snprintf(u->uuid, sizeof u->uuid, "%s", d);
		u->total = bytes_of(e); u->used = bytes_of(f); u->free = u->total - u->used;
	} else if (!strcmp(key, "process") && S.entries < MAX_ENTRIES) {
		entry_t *p = &S.entry[S.entries++];
		p->device = atoi(a); p->list = b[0]; p->pid = strtoul(c, NULL, 10); p->used = bytes_of(d);
		p->gpu = n > 5 ? strtoul(e, NULL, 10) : UINT32_MAX;
		p->compute = n > 6 ? strtoul(f, NULL, 10) : UINT32_MAX;
	} else if (!strcmp(key, "peak") && S.peaks < 64) {
		entry_t *p = &S.peak[S.peaks++];
		p->device = atoi(a); p->pid = strtoul(b, NULL, 10); p->peak = bytes_of(c);
		p->time = bytes_of(d); p->running = atoi(e);
	}
}

static void read_conf(void) {
	Dl_info self;
	char path[4096], line[1024];
	long calls = S.calls;
	int initialized = S.initialized;
	memset(&S, 0, sizeof S);
	S.calls = calls;
	S.initialized = initialized;
	if (!dladdr((void *)read_conf, &self)) return;
	snprintf(path, sizeof path, "%s.conf", self.dli_fname);
	FILE *f = fopen(path, "r");
	if (!f) return;
	while (fgets(line, sizeof line, f)) line_of(line);
	fclose(f);
}

static int lost(void) { return S.lost_after && S.calls > S.lost_after ? S.lost_code : OK; }

int nvmlInit_v2(void) {
	if (!S.initialized) read_conf();
	if (S.init_code) return S.init_code;
	S.initialized++;
	return OK;
}
int nvmlShutdown(void) {
	if (!S.initialized) return UNINITIALIZED;
	S.initialized--;
	return OK;
}
int nvmlSystemGetDriverVersion(char *out, unsigned n) { snprintf(out, n, "%s", S.driver); return OK; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = S.devices; return S.initialized ? OK : UNINITIALIZED; }
#ifndef NO_HANDLE
int nvmlDeviceGetHandleByIndex_v2(unsigned i, unit_t **h) {
	if (i >= (unsigned)S.devices) return INVALID;
	*h = &S.device[i];
	return OK;
}
#endif
int nvmlDeviceGetName(unit_t *u, char *out, unsigned n) { if (lost()) return lost(); snprintf(out, n, "%s", u->name); return OK; }
int nvmlDeviceGetUUID(unit_t *u, char *out, unsigned n) { if (lost()) return lost(); snprintf(out, n, "%s", u->uuid); return OK; }
int nvmlDeviceGetPciInfo_v3(unit_t *u, char *out) {
	if (lost()) return lost();
	memset(out, 0, 68);
	memcpy(out + 36, u->pci, 32);
	return OK;
}
int nvmlDeviceGetMemoryInfo(unit_t *u, uint64_t *m) {
	if (lost()) return lost();
	if (u->memory_code) return u->memory_code;
	m[0] = u->total; m[1] = u->free; m[2] = u->used + u->reserved;
	return OK;
}
#ifndef ONLY_V1
int nvmlDeviceGetMemoryInfo_v2(unit_t *u, uint64_t *m) {
	if (lost()) return lost();
	if (u->memory_code) return u->memory_code;
	if ((uint32_t)m[0] != 0x02000028) return 25;
	m[1] = u->total; m[2] = u->reserved; m[3] = u->free; m[4] = u->used;
	return OK;
}
#endif
int nvmlDeviceGetMigMode(unit_t *u, unsigned *now, unsigned *pending) {
	if (u->is_part) return INVALID;
	*now = *pending = u->mig;
	return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(unit_t *u, unsigned *n) { *n = u->mig ? MAX_PARTS : 0; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(unit_t *u, unsigned i, unit_t **h) {
	for (int k = 0; k < S.parts; k++)
		if (S.part_of[k] == u->index && i-- == 0) { *h = &S.part[k]; return OK; }
	return NOT_FOUND;
}
int nvmlDeviceGetGpuInstanceId(unit_t *u, unsigned *id) { *id = u->gpu; return u->is_part ? OK : NOT_SUPPORTED; }
int nvmlDeviceGetComputeInstanceId(unit_t *u, unsigned *id) { *id = u->compute; return u->is_part ? OK : NOT_SUPPORTED; }
int nvmlDeviceGetAccountingMode(unit_t *u, unsigned *mode) { *mode = u->accounting; return OK; }
int nvmlDeviceGetAccountingPids(unit_t *u, unsigned *n, unsigned *pids) {
	unsigned k = 0, room = *n;
	for (int i = 0; i < S.peaks; i++)
		if (S.peak[i].device == u->index) { if (k < room) pids[k] = S.peak[i].pid; k++; }
	*n = k;
	return k > room ? INSUFFICIENT : OK;
}
int nvmlDeviceGetAccountingStats(unit_t *u, unsigned pid, uint64_t *out) {
	for (int i = 0; i < S.peaks; i++)
		if (S.peak[i].device == u->index && S.peak[i].pid == pid) {
			memset(out, 0, 56);
			out[1] = S.peak[i].peak; out[2] = S.peak[i].time;
			((uint32_t *)out)[8] = S.peak[i].running;
			return OK;
		}
	return NOT_FOUND;
}

/* The vitals. What the configuration does not tell is not supported; the older
 * libraries lack the call for the limit. */
static int vital(unit_t *u, int i, unsigned *out) {
	if (lost()) return lost();
	if (u->is_part || u->vital[i] == UINT32_MAX) return NOT_SUPPORTED;
	*out = u->vital[i];
	return OK;
}
int nvmlDeviceGetUtilizationRates(unit_t *u, unsigned *out) {
	int code = vital(u, 0, &out[0]);
	return code ? code : vital(u, 1, &out[1]);
}
int nvmlDeviceGetTemperature(unit_t *u, unsigned sensor, unsigned *out) { return sensor ? INVALID : vital(u, 2, out); }
int nvmlDeviceGetPowerUsage(unit_t *u, unsigned *out) { return vital(u, 3, out); }
#ifndef ONLY_V1
int nvmlDeviceGetEnforcedPowerLimit(unit_t *u, unsigned *out) { return vital(u, 4, out); }
#endif
int nvmlDeviceGetClockInfo(unit_t *u, unsigned which, unsigned *out) {
	return which == 1 ? vital(u, 5, out) : which == 2 ? vital(u, 6, out) : INVALID;
}

/* The lists. A part shows its own entries, the device all of them. */
static int list(unit_t *u, unsigned *n, char *out, char which, int size) {
	S.calls++;
	if (S.reload) read_conf();
	if (S.slow_ms) usleep(S.slow_ms * 1000);
	if (lost()) return lost();
	if (!u->is_part && u->list_code) return u->list_code;
	unsigned k = 0, room = out ? *n : 0;
	for (int i = 0; i < S.entries; i++) {
		entry_t *p = &S.entry[i];
		if (p->device != u->index || p->list != which) continue;
		if (u->is_part && (p->gpu != u->gpu || p->compute != u->compute)) continue;
		if (k < room) {
			char *e = out + (size_t)k * size;
			uint64_t used = p->used == UINT64_MAX ? p->used : p->used + (uint64_t)(S.growbytes * S.calls);
			memset(e, 0, size);
			memcpy(e, &p->pid, 4);
			memcpy(e + 8, &used, 8);
			if (size == 24) { memcpy(e + 16, &p->gpu, 4); memcpy(e + 20, &p->compute, 4); }
		}
		k++;
	}
	if (S.grow) { *n = room + S.grow; return INSUFFICIENT; }
	if (S.lie) { *n = S.lie; return OK; }
	*n = k;
	return k > room ? INSUFFICIENT : OK;
}

#define LISTS(suffix, size) \
	int nvmlDeviceGetComputeRunningProcesses##suffix(unit_t *u, unsigned *n, void *o) { return list(u, n, o, 'c', size); } \
	int nvmlDeviceGetGraphicsRunningProcesses##suffix(unit_t *u, unsigned *n, void *o) { return list(u, n, o, 'g', size); } \
	int nvmlDeviceGetMPSComputeRunningProcesses##suffix(unit_t *u, unsigned *n, void *o) { return list(u, n, o, 'm', size); }

LISTS(, 16)
#ifndef ONLY_V1
LISTS(_v2, 24)
#ifndef ONLY_V2
LISTS(_v3, 24)
#endif
#endif
