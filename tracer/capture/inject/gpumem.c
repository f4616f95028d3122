/* gpumem's interposer: records the allocations that an unmodified program asks
 * of the CUDA driver, or of HIP's runtime. Loaded by LD_PRELOAD (calls through the
 * PLT, dlsym and cuGetProcAddress are seen, and deep.c sees to libraries that are
 * opened with RTLD_DEEPBIND) or by LD_AUDIT. This file is how it begins and ends:
 *
 *   bind    the functions that are hooked, and what they are bound to
 *   calls   what each of them does (hip.h: those of HIP)
 *   pools   the driver's pools of stream-ordered memory
 *   event   an event, on its way into the ring
 *   stack   who called (unwind: by tables, python: a line of Python)
 *   ring    the file that a process's events are in; its layout is in ../layout.go
 *
 * and apart from these deep.c, exec.c and hipleft.c, and, for windows of some seconds, heap.c (what Python's
 * allocators hand out), blocks.c (what PyTorch's do) and samples.c (what both keep of it).
 *
 * Rules. A hook takes no lock and allocates nothing; errno stays as the driver
 * left it; the driver is never loaded by us; a function that the driver lacks
 * stays absent; what is not on the list in bind.h is passed on untouched. A free
 * is recorded before the driver is called, an allocation after it returned, so
 * that an address that is used again cannot be seen in the wrong order. A
 * program that never comes near the driver gets no ring and no memory of ours.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "bind.h"
#include "deep.h"
#include "pools.h"
#include "stack.h"
#include "unwind.h"

static u32 first_pid;

EXPORT const char gpumem_capture[] = "gpumem capture 1";

int another_interposes(void)
{
	Dl_info info;
	const char *base;
	if (!next_dlsym)
		return 0;
	if (first("dlsym") != (void *)gpumem_dlsym)
		return 1;
	if (!dladdr || !dladdr((void *)next_dlsym, &info) || !info.dli_fname)
		return 0;
	for (const char *c = base = info.dli_fname; *c; c++)
		if (*c == '/')
			base = c + 1;
	return !(base[0] == 'l' && base[1] == 'i' && base[2] == 'b' &&
		 ((base[3] == 'c' && (base[4] == '.' || base[4] == '-')) || (base[3] == 'd' && base[4] == 'l')));
}

extern const char __ehdr_start[] __attribute__((visibility("hidden"))); /* by the linker */

/* exec.c: keeps the next program from asking for us where it cannot have us. */
extern __attribute__((visibility("hidden"))) void prepare_exec(const char *us, void *(*next)(const char *));

static void *next_function(const char *name)
{
	return next_dlsym ? next_dlsym(RTLD_NEXT, name) : next_export(name);
}

static int read_environment(void)
{
	const char *dir = getenv("GPUMEM_CAPTURE_DIR"), *stack = getenv("GPUMEM_STACK"), *slots = getenv("GPUMEM_CAPTURE_SLOTS");
	u64 n = 0;
	if (!dir || dir[0] != '/' || __builtin_strlen(dir) >= sizeof directory)
		return 0;
	put(directory, dir);
	asks_purge = getenv("GPUMEM_CAPTURE_PURGE") != 0;
	if (stack && same(stack, "none"))
		want_frames = 0;
	for (; slots && *slots >= '0' && *slots <= '9' && n < (1u << 24); slots++)
		n = n * 10 + (u64)(*slots - '0');
	if (n >= 64 && n <= (1u << 20))
		for (capacity = 64; capacity < n;)
			capacity *= 2;
	return 1;
}

static int audited(void)
{
	const char *list = getenv("LD_AUDIT"), *want = "libgpumem_";
	for (; list && *list; list++) {
		int n = 0;
		while (want[n] && list[n] == want[n])
			n++;
		if (!want[n])
			return 1;
	}
	return 0;
}

static int is_library(const char *name, const char *want)
{
	const char *base = name;
	for (const char *c = name; *c; c++)
		if (*c == '/')
			base = c + 1;
	for (; *want; want++)
		if (*base++ != *want)
			return 0;
	return *base == 0 || *base == '.';
}

static int is_hip(const char *name) { return is_library(name, "libamdhip64.so"); }

static int is_driver(const char *name) { return is_library(name, "libcuda.so") || is_hip(name); }

/* What is loaded when we are. */
struct company {
	const char *us; /* our file's name; the loader keeps it as long as us */
	int driver;
};

/* is_go looks for the note that Go's linker leaves. */
static int is_go(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;
		while (p->p_type == PT_NOTE && end - at >= (long)sizeof(ElfW(Nhdr)) + 4) {
			const ElfW(Nhdr) *note = (const void *)at;
			if (note->n_namesz == 4 && same((const char *)(note + 1), "Go"))
				return 1;
			at += sizeof *note + ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u);
		}
	}
	return 0;
}

static int meet(struct dl_phdr_info *info, size_t size, void *data)
{
	struct company *c = data;
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	(void)size;
	if (info->dlpi_addr == (ElfW(Addr))&__ehdr_start)
		c->us = name;
	if (!*name && is_go(info)) /* the program itself */
		program_in_go = 1;
	c->driver |= is_driver(name);
	return 0;
}

static struct company company(void)
{
	struct company c = {0};
	dl_iterate_phdr(meet, &c);
	return c;
}

/* first_of_all reports whether this is the first program of the run. It gets a
 * ring in any case, which then says whether it ever loaded the driver. */
static int first_of_all(void)
{
	char name[sizeof directory + 16];
	put(put(name, directory), "/first");
	return unlink(name) == 0;
}

static void record(int driver_linked)
{
	first_pid = (u32)getpid();
	if (first_of_all() || driver_linked)
		begin();
}

static __attribute__((constructor(101))) void start(void)
{
	int saved = errno;
	struct company c = company();
	find_next_dlsym();
	prepare_exec(c.us, next_function);
	relay = (u32)audited(); /* la_version, called after this, knows better */
	if (!relay && read_environment()) {
		unwind_by(next_export("_dl_find_object"));
		/* Of two copies of us the first in the search order records. */
		if (first("gpumem_capture") == (void *)gpumem_capture)
			record(c.driver);
		else
			directory[0] = 0;
	}
	errno = saved;
}

static __attribute__((destructor(101))) void finish(void)
{
	int saved = errno, near = load(&driver_map) || load(&hip_map) || company().driver;
	struct owner *o = load(&owner);
	/* A program whose calls passed us by is worth a word, its children are not. */
	if (!o && near && first_pid == (u32)getpid())
		o = begin();
	if (o && load(&o->state) == F_SLOTS)
		copy_maps(o);
	if (o && near && !relay && !audit && deep_passes())
		mark(F_PASSED);
	mark(F_EXITED | (near ? F_DRIVER : 0));
	errno = saved;
}

/* LD_AUDIT: the loader asks at every binding, also of dlsym. */

EXPORT unsigned la_version(unsigned version)
{
	audit = 1;
	relay = 0;
	if (!directory[0] && read_environment())
		record(0);
	return version;
}

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
	*cookie = map->l_name && is_driver(map->l_name);
	if (!*cookie)
		return 2; /* LA_FLG_BINDFROM */
	if (namespace == LM_ID_BASE) {
		store(is_hip(map->l_name) ? &hip_map : &driver_map, map);
		begin();
	}
	return 3; /* LA_FLG_BINDTO as well */
}

EXPORT uintptr_t la_symbind64(ElfW(Sym) *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags, const char *name)
{
	int i = *to == 1 ? hook_named(name) : -1; /* the loader asks about more than we wanted */
	(void)index, (void)from, (void)flags;
	if (i < 0 || !aim(i, (void *)symbol->st_value))
		return symbol->st_value;
	learn(i);
	return (uintptr_t)wrappers[i];
}
