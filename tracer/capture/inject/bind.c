/* Finds the driver's functions, and puts the wrappers in their place: in the PLT, which
 * binds to us first, in dlsym, and in cuGetProcAddress. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "bind.h"
#include "deep.h"
#include "ring.h"

static const struct {
	const char *name, *base;
	int ptsz, from;
} hooks[HOOK_COUNT] = {
#define X(name, base, ptsz, from) {#name, base, ptsz, from},
	HOOKS(X)
#undef X
};

void *const wrappers[HOOK_COUNT] = {
#define X(name, base, ptsz, from) (void *)name,
	HOOKS(X)
#undef X
};

void *targets[HOOK_COUNT];
void *exports[HOOK_COUNT];
struct link_map *driver_map, *hip_map;
u32 relay;
static u32 exports_known, hip_known;
fn6 ctx_current, ctx_device, ctx_memory, hip_device, hip_choose, hip_memory;
struct pool_calls pool_calls[2];

dlsym_fn next_dlsym;

/* hook_named is the exact allow-list. It calls nothing: what it does not find
 * must reach the real dlsym with our caller's return address. */
int hook_named(const char *name)
{
	const char *first = name;
	if (!name || (name[0] != 'c' && name[0] != 'h'))
		return -1;
	if (name[1] != (name[0] == 'c' ? 'u' : 'i'))
		return -1;
	first += name[0] == 'c' ? 2 : name[2] == 'p' ? 3 : 1;
	if (*first < 'A' || *first > 'Z')
		return -1;
	for (int i = 0; i < HOOK_COUNT; i++)
		if (same(hooks[i].name, name))
			return i;
	return -1;
}

static u64 relocated(struct link_map *m, u64 value)
{
	return value < m->l_addr ? value + m->l_addr : value;
}

/* exported looks a function up in one library, as the loader would: dlsym
 * would go through other interposers and change what dlerror says. */
static void *exported(struct link_map *m, const char *name)
{
	const ElfW(Sym) *symbols = 0;
	const char *strings = 0;
	const uint16_t *versions = 0;
	const u32 *gnu = 0, *sysv = 0;
	u32 h = 5381, n, i;
	for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
		u64 at = relocated(m, d->d_un.d_ptr);
		if (d->d_tag == DT_SYMTAB)
			symbols = (const void *)at;
		else if (d->d_tag == DT_STRTAB)
			strings = (const void *)at;
		else if (d->d_tag == DT_GNU_HASH)
			gnu = (const void *)at;
		else if (d->d_tag == DT_HASH)
			sysv = (const void *)at;
		else if (d->d_tag == DT_VERSYM)
			versions = (const void *)at;
	}
	if (!symbols || !strings)
		return 0;
#define OLD 0x8000 /* a version that is kept for programs linked long ago */
#define DEFINED(i) \
	(symbols[i].st_shndx != SHN_UNDEF && !(versions && versions[i] & OLD) && same(strings + symbols[i].st_name, name))
	if (gnu) {
		const u32 *buckets = gnu + 4 + (size_t)gnu[2] * (sizeof(ElfW(Addr)) / 4), *chain = buckets + gnu[0];
		for (const char *c = name; *c; c++)
			h = h * 33 + (unsigned char)*c;
		i = gnu[0] ? buckets[h % gnu[0]] : 0;
		if (i < gnu[1])
			return 0;
		for (;; i++) {
			if (((chain[i - gnu[1]] ^ h) >> 1) == 0 && DEFINED(i))
				return (void *)(m->l_addr + symbols[i].st_value);
			if (chain[i - gnu[1]] & 1)
				return 0;
		}
	}
	for (i = 0, n = sysv ? sysv[1] : 0; i < n; i++)
		if (DEFINED(i))
			return (void *)(m->l_addr + symbols[i].st_value);
	return 0;
}

/* driver is the program's libcuda, or null while it has none. */
static struct link_map *driver(void)
{
	struct link_map *m = load(&driver_map);
	if (m || audit)
		return m;
	m = dlopen ? dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) : 0;
	if (m)
		store(&driver_map, m);
	return m;
}

/* hip_runtime is the program's libamdhip64, or null while it has none. */
static struct link_map *hip_runtime(void)
{
	static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};
	struct link_map *m = load(&hip_map);
	for (u32 i = 0; !m && !audit && dlopen && i < sizeof names / sizeof names[0]; i++)
		m = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
	if (m)
		store(&hip_map, m);
	return m;
}

void learn_hip(void)
{
	struct link_map *m;
	if (load(&hip_known) || !(m = hip_runtime()))
		return;
	for (int i = S_hipMalloc; i < HOOK_COUNT; i++)
		store(&exports[i], exported(m, hooks[i].name));
	pool_calls[1].of_device = (fn6)exported(m, "hipDeviceGetDefaultMemPool");
	pool_calls[1].current = (fn6)exported(m, "hipDeviceGetMemPool");
	pool_calls[1].trim = (fn6)exported(m, "hipMemPoolTrimTo");
	pool_calls[1].capture_mode = (fn6)exported(m, "hipThreadExchangeStreamCaptureMode");
	store(&pool_calls[1].get, (fn6)exported(m, "hipMemPoolGetAttribute"));
	hip_choose = (fn6)exported(m, "hipSetDevice");
	hip_memory = (fn6)exported(m, "hipMemGetInfo");
	store(&hip_device, (fn6)exported(m, "hipGetDevice"));
	store(&hip_known, 1);
	begin();
	mark(F_DRIVER);
}

static void learn_driver(void)
{
	struct link_map *m;
	if (load(&exports_known))
		return;
	m = driver();
	if (!m)
		return;
	for (int i = 0; i < S_hipMalloc; i++)
		store(&exports[i], exported(m, hooks[i].name));
	pool_calls[0].of_device = (fn6)exported(m, "cuDeviceGetDefaultMemPool");
	pool_calls[0].current = (fn6)exported(m, "cuDeviceGetMemPool");
	pool_calls[0].trim = (fn6)exported(m, "cuMemPoolTrimTo");
	pool_calls[0].capture_mode = (fn6)exported(m, "cuThreadExchangeStreamCaptureMode");
	store(&pool_calls[0].get, (fn6)exported(m, "cuMemPoolGetAttribute"));
	ctx_device = (fn6)exported(m, "cuCtxGetDevice");
	ctx_memory = (fn6)exported(m, "cuMemGetInfo_v2");
	store(&ctx_current, (fn6)exported(m, "cuCtxGetCurrent"));
	store(&exports_known, 1);
	begin(); /* before the program changes its root or its user */
	mark(F_DRIVER);
}

void learn(int i)
{
	if (of_hip(i))
		learn_hip();
	else
		learn_driver();
}

static struct link_map *library_of(int i) { return of_hip(i) ? hip_runtime() : driver(); }

/* aim makes found the wrapper's target, unless another is: then found belongs
 * to someone else, and is to be handed out as it is. */
int aim(int i, void *found)
{
	void *none = 0;
	if (found == wrappers[i])
		return 1;
	return __atomic_compare_exchange_n(&targets[i], &none, found, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || none == found;
}

/* target is the real function of a hook that was bound without our help. */
__attribute__((noinline)) fn6 find_target(int i)
{
	void *found = 0;
	int saved = errno;
	learn(i);
	if (!audit && next_dlsym)
		found = next_dlsym(RTLD_NEXT, hooks[i].name); /* interposers behind us come first */
	if ((!found || found == wrappers[i]) && relay && library_of(i))
		found = next_dlsym(library_of(i), hooks[i].name);
	if (!found || found == wrappers[i])
		found = load(&exports[i]);
	if (found)
		aim(i, found);
	errno = saved;
	return (fn6)load(&targets[i]);
}

/* ---- dlsym ------------------------------------------------------------- */

/* next_export is RTLD_NEXT without dlsym, which musl has under no version, and
 * which before glibc 2.34 only programs with libdl have. */
struct search {
	const char *name;
	void *found;
	int past_us;
};

static int search_one(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *s = data;
	struct link_map m = {.l_addr = info->dlpi_addr};
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			m.l_ld = (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	if (m.l_ld && s->past_us)
		s->found = exported(&m, s->name);
	s->past_us |= m.l_ld == _DYNAMIC;
	return s->found != 0;
}

void *next_export(const char *name)
{
	struct search s = {.name = name};
	dl_iterate_phdr(search_one, &s);
	return s.found;
}

/* next_of_loader is one of the loader's own functions. */
static void *next_of_loader(const char *name)
{
	void *f = dlvsym ? dlvsym(RTLD_NEXT, name, "GLIBC_2.34") : 0;
	if (!f)
		f = dlvsym ? dlvsym(RTLD_NEXT, name, GLIBC_BASE) : 0;
	return f ? f : next_export(name);
}

__attribute__((noinline)) void find_next_dlsym(void)
{
	store(&next_dlsym, (dlsym_fn)next_of_loader("dlsym"));
}

static __attribute__((noinline)) void *substitute(void *handle, const char *name, int i)
{
	void *found = next_dlsym(handle, name);
	if (found == wrappers[i]) /* we stand before the driver in this scope */
		found = next_dlsym(RTLD_NEXT, name);
	if (!found || relay)
		return found;
	learn(i);
	return aim(i, found) ? wrappers[i] : found;
}

/* Our dlsym must leave the stack as it found it when it passes a lookup on:
 * RTLD_NEXT means "after the caller", so the last call is a jump. */
EXPORT void *gpumem_dlsym(void *handle, const char *name)
{
	if (__builtin_expect(!next_dlsym, 0))
		find_next_dlsym();
	if (!relay)
		deep_rebind();
	if (handle != RTLD_NEXT) {
		int i = hook_named(name);
		if (i >= 0)
			return substitute(handle, name, i);
	}
	return next_dlsym(handle, name);
}
EXPORT __typeof__(gpumem_dlsym) gpumem_dlsym_base __attribute__((alias("gpumem_dlsym")));
__asm__(".symver gpumem_dlsym,dlsym@@GLIBC_2.34");
__asm__(".symver gpumem_dlsym_base,dlsym@" GLIBC_BASE);

/* ---- cuGetProcAddress -------------------------------------------------- */

static int hook_of(const char *name, void *found, int version, u64 flags)
{
	int best = -1, ptsz = (flags & 2) != 0;
	for (int i = 0; i < HOOK_COUNT; i++)
		if (found == load(&exports[i]) || found == load(&targets[i]))
			return i;
	for (int i = 0; i < HOOK_COUNT; i++)
		if (hooks[i].ptsz == ptsz && hooks[i].from <= version && (same(hooks[i].base, name) || same(hooks[i].name, name)) &&
		    (best < 0 || hooks[i].from >= hooks[best].from))
			best = i;
	if (best < 0 && ptsz) /* most functions have no such variant */
		return hook_of(name, found, version, flags & ~2u);
	return best;
}

/* hand_out replaces what the driver returned by our wrapper for it. */
static void hand_out(const char *name, void **found, int version, u64 flags)
{
	int listed = 0, i;
	if (!name || !found || !*found || relay)
		return;
	for (i = 0; i < HOOK_COUNT && !listed; i++)
		listed = same(hooks[i].base, name) || same(hooks[i].name, name);
	if (!listed && !same(name, "cuCtxCreate"))
		return;
	learn_driver();
	i = hook_of(name, *found, version, flags);
	if (i >= 0 && aim(i, *found))
		*found = wrappers[i];
	else
		mark(F_MISSED);
}

CUresult cuGetProcAddress(const char *name, void **found, int version, u64 flags)
{
	CUresult (*real)(const char *, void **, int, u64) = (void *)target(S_cuGetProcAddress);
	CUresult rc = real ? real(name, found, version, flags) : STUB;
	if (rc == 0)
		hand_out(name, found, version, flags);
	return rc;
}

CUresult cuGetProcAddress_v2(const char *name, void **found, int version, u64 flags, int *status)
{
	CUresult (*real)(const char *, void **, int, u64, int *) = (void *)target(S_cuGetProcAddress_v2);
	CUresult rc = real ? real(name, found, version, flags, status) : STUB;
	if (rc == 0)
		hand_out(name, found, version, flags);
	return rc;
}

/* ---- what deep.c asks ---------------------------------------------------- */

/* first is what the program itself finds by a name. (RTLD_DEFAULT would begin
 * with ourselves: we are linked -Bsymbolic.) */
void *first(const char *name)
{
	void *program = dlopen ? dlopen(0, RTLD_LAZY) : 0;
	return program && next_dlsym ? next_dlsym(program, name) : 0;
}

/* Whether a function that is bound at its first call is bound to us then. */
static int stands_first;

static void *real_dlopen(void) { return next_of_loader("dlopen"); }

static void find_all(void)
{
	learn_driver();
	learn_hip();
	stands_first = first("dlsym") == (void *)gpumem_dlsym && first("cuInit") == wrappers[S_cuInit];
	for (int i = 0; i < HOOK_COUNT; i++)
		if (load(&exports[i]))
			target(i);
}

/* wrapper_of leaves what another interposer is to see. */
static void *wrapper_of(const char *name, void *bound)
{
	int i = hook_named(name);
	if (same(name, "dlsym"))
		return (bound ? bound == (void *)next_dlsym : stands_first) ? (void *)gpumem_dlsym : 0;
	if (i < 0 || bound == wrappers[i])
		return 0;
	if (!bound)
		return stands_first ? wrappers[i] : 0;
	return bound == load(&exports[i]) && bound == load(&targets[i]) ? wrappers[i] : 0;
}

const struct deep_ours deep_ours = {real_dlopen, find_all, wrapper_of};
