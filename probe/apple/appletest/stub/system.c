/*
 * Stands in for the part of libSystem that package apple calls. The structures
 * have the fields that XNU publishes (bsd/sys/resource.h, osfmk/mach/task_info.h,
 * bsd/sys/proc_info.h, osfmk/mach/vm_statistics.h), so the compiler, not the
 * package under test, decides where each lies. What it says stands in the file
 * beside it, NAME.conf, and is read again at each call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int kern_return_t;
enum { KERN_SUCCESS = 0, KERN_INVALID_ARGUMENT = 4, KERN_FAILURE = 5, MACH_SEND_INVALID_DEST = 0x10000003 };
enum { SELF = 0x103, HOST = 0x207, FIRST_NAME = 0x1000 };

struct rusage_info_v4 {
	uint8_t uuid[16];
	uint64_t user_time, system_time, pkg_idle_wkups, interrupt_wkups, pageins, wired_size, resident_size, phys_footprint;
	uint64_t proc_start_abstime, proc_exit_abstime;
	uint64_t child_user_time, child_system_time, child_pkg_idle_wkups, child_interrupt_wkups, child_pageins, child_elapsed_abstime;
	uint64_t diskio_bytesread, diskio_byteswritten;
	uint64_t qos_default, qos_maintenance, qos_background, qos_utility, qos_legacy, qos_user_initiated, qos_user_interactive;
	uint64_t billed_system_time, serviced_system_time;
	uint64_t logical_writes, lifetime_max_phys_footprint, instructions, cycles, billed_energy, serviced_energy;
	uint64_t interval_max_phys_footprint, runnable_time;
};

#pragma pack(push, 4)
struct task_vm_info {
	uint64_t virtual_size;
	int32_t region_count, page_size;
	uint64_t resident_size, resident_size_peak;
	uint64_t device, device_peak, internal, internal_peak, external, external_peak, reusable, reusable_peak;
	uint64_t purgeable_volatile_pmap, purgeable_volatile_resident, purgeable_volatile_virtual;
	uint64_t compressed, compressed_peak, compressed_lifetime;
	uint64_t phys_footprint;           /* rev1 */
	uint64_t min_address, max_address; /* rev2 */
	int64_t ledger_phys_footprint_peak;
	int64_t ledger_purgeable_nonvolatile, ledger_purgeable_novolatile_compressed;
	int64_t ledger_purgeable_volatile, ledger_purgeable_volatile_compressed;
	int64_t ledger_tag_network_nonvolatile, ledger_tag_network_nonvolatile_compressed;
	int64_t ledger_tag_network_volatile, ledger_tag_network_volatile_compressed;
	int64_t ledger_tag_media_footprint, ledger_tag_media_footprint_compressed;
	int64_t ledger_tag_media_nofootprint, ledger_tag_media_nofootprint_compressed;
	int64_t ledger_tag_graphics_footprint, ledger_tag_graphics_footprint_compressed;
	int64_t ledger_tag_graphics_nofootprint, ledger_tag_graphics_nofootprint_compressed;
	int64_t ledger_tag_neural_footprint, ledger_tag_neural_footprint_compressed;
	int64_t ledger_tag_neural_nofootprint, ledger_tag_neural_nofootprint_compressed; /* rev3 */
	uint64_t limit_bytes_remaining;                                                  /* rev4 */
	int32_t decompressions;                                                          /* rev5 */
	int64_t ledger_swapins;                                                          /* rev6 */
};
#pragma pack(pop)

struct proc_taskinfo {
	uint64_t virtual_size, resident_size, total_user, total_system, threads_user, threads_system;
	int32_t policy, faults, pageins, cow_faults, messages_sent, messages_received;
	int32_t syscalls_mach, syscalls_unix, csw, threadnum, numrunning, priority;
};

struct vm_statistics64 {
	uint32_t free_count, active_count, inactive_count, wire_count;
	uint64_t rest[17];
};

/* One line of the configuration, "process PID key=value …" or "machine key=value …". */
static int find(const char *kind, long pid, char *line, size_t size)
{
	static char path[4096];
	Dl_info self;
	if (!path[0] && dladdr((void *)find, &self))
		snprintf(path, sizeof path, "%s.conf", self.dli_fname);
	FILE *f = fopen(path, "r");
	if (!f)
		return 0;
	int found = 0;
	while (!found && fgets(line, size, f)) {
		char word[32];
		long n = 0;
		int got = sscanf(line, "%31s %ld", word, &n);
		found = got >= 1 && !strcmp(word, kind) && (pid < 0 || (got == 2 && n == pid));
	}
	fclose(f);
	return found;
}

static long long value(const char *line, const char *key, long long otherwise)
{
	char want[64];
	snprintf(want, sizeof want, " %s=", key);
	const char *at = strstr(line, want);
	return at ? strtoll(at + strlen(want), NULL, 0) : otherwise;
}

int proc_pid_rusage(int pid, int flavor, void *buffer)
{
	char line[512];
	if (flavor != 4)
		return errno = EINVAL, -1;
	if (!find("process", pid, line, sizeof line))
		return errno = ESRCH, -1;
	if (value(line, "foreign", 0))
		return errno = EPERM, -1;
	struct rusage_info_v4 *r = buffer;
	memset(r, 0xee, sizeof *r); /* a field read at a wrong place is no zero */
	r->user_time = value(line, "user", 0);
	r->system_time = value(line, "system", 0);
	r->wired_size = value(line, "wired", 0);
	r->resident_size = value(line, "resident", 0);
	r->phys_footprint = value(line, "footprint", 0);
	r->lifetime_max_phys_footprint = value(line, "peak", 0);
	r->proc_start_abstime = value(line, "started", 1);
	r->proc_exit_abstime = value(line, "exited", 0);
	return 0;
}

int proc_pidinfo(int pid, int flavor, uint64_t arg, void *buffer, int size)
{
	char line[512];
	if (flavor != 4 || arg != 0 || size < (int)sizeof(struct proc_taskinfo))
		return errno = EINVAL, 0;
	if (!find("process", pid, line, sizeof line))
		return errno = ESRCH, 0;
	if (value(line, "foreign", 0))
		return errno = EPERM, 0;
	struct proc_taskinfo *t = buffer;
	memset(t, 0xee, sizeof *t);
	t->threadnum = value(line, "threads", 1);
	return sizeof *t;
}

int proc_pidpath(int pid, void *buffer, uint32_t size)
{
	char line[512];
	if (!find("process", pid, line, sizeof line))
		return errno = ESRCH, 0;
	return snprintf(buffer, size, "/Applications/Program %d", pid);
}

/* Ports: each name port stands for a pid and a generation; exec makes the old ones dead. */
static struct { int pid, references; long long task; } names[256];
static int host_references;

uint32_t mach_task_self(void) { return SELF; }

uint32_t mach_host_self(void)
{
	host_references++;
	return HOST;
}

kern_return_t task_name_for_pid(uint32_t self, int pid, uint32_t *name)
{
	char line[512];
	*name = 0;
	if (self != SELF)
		return KERN_INVALID_ARGUMENT;
	if (!find("process", pid, line, sizeof line) || value(line, "foreign", 0))
		return KERN_FAILURE;
	for (int i = 0; i < 256; i++)
		if (!names[i].references) {
			names[i].pid = pid;
			names[i].references = 1;
			names[i].task = value(line, "task", 1);
			*name = FIRST_NAME + i;
			return KERN_SUCCESS;
		}
	abort(); /* ports leak */
}

kern_return_t mach_port_deallocate(uint32_t self, uint32_t name)
{
	if (self != SELF)
		abort();
	if (name == HOST && host_references > 0)
		return host_references--, KERN_SUCCESS;
	int i = (int)name - FIRST_NAME;
	if (i < 0 || i > 255 || !names[i].references)
		abort(); /* given back twice, or never had */
	names[i].references--;
	return KERN_SUCCESS;
}

/* The references that were not given back. */
int fake_ports(void)
{
	int n = host_references;
	for (int i = 0; i < 256; i++)
		n += names[i].references;
	return n;
}

kern_return_t task_info(uint32_t name, uint32_t flavor, void *out, uint32_t *count)
{
	char line[512];
	int i = (int)name - FIRST_NAME;
	if (flavor != 22 || i < 0 || i > 255 || !names[i].references)
		return KERN_INVALID_ARGUMENT;
	if (!find("process", names[i].pid, line, sizeof line) || value(line, "task", 1) != names[i].task)
		return MACH_SEND_INVALID_DEST;
	struct task_vm_info v;
	memset(&v, 0xee, sizeof v);
	v.resident_size = value(line, "resident", 0);
	v.internal = value(line, "internal", 0);
	v.external = value(line, "external", 0);
	v.compressed = value(line, "compressed", 0);
	v.phys_footprint = value(line, "footprint", 0);
	v.ledger_phys_footprint_peak = value(line, "peak", 0);
	v.ledger_purgeable_nonvolatile = value(line, "purgeable", 0);
	v.ledger_tag_graphics_footprint = value(line, "graphics", 0);
	v.ledger_tag_graphics_footprint_compressed = value(line, "graphics_compressed", 0);
	v.ledger_tag_graphics_nofootprint = value(line, "graphics_nofootprint", 0);
	uint32_t words = value(line, "words", sizeof v / 4);
	if (words > *count)
		words = *count;
	memcpy(out, &v, words * 4);
	*count = words;
	return KERN_SUCCESS;
}

kern_return_t host_statistics64(uint32_t host, int flavor, void *out, uint32_t *count)
{
	char line[512];
	if (host != HOST || !host_references || flavor != 4 || *count < 4 || !find("machine", -1, line, sizeof line))
		return KERN_INVALID_ARGUMENT;
	struct vm_statistics64 v = { .free_count = value(line, "free", 0), .inactive_count = value(line, "inactive", 0) };
	if (*count > sizeof v / 4)
		*count = sizeof v / 4;
	memcpy(out, &v, *count * 4);
	return KERN_SUCCESS;
}

kern_return_t mach_timebase_info(uint32_t *info)
{
	info[0] = 125; /* Apple silicon's: 24 MHz */
	info[1] = 3;
	return KERN_SUCCESS;
}
