/* A library that a program opens with RTLD_DEEPBIND finds what it asks for in itself and
 * in what it needs before it looks anywhere else, so past every library of LD_PRELOAD.
 * The flag stays as the program gave it: it says what else the library is to find there.
 * So dlopen notes the flag and jumps to the real one, and at the next look at a function,
 * which a program needs before it can call what it opened, the words through which the
 * new libraries call the driver are made to point to us, as the loader would have done.
 * What a library calls before, while it is being opened, is not seen.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "deep.h"

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))
#define load(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#if defined(__x86_64__)
#define IS_BINDING(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT || (type) == R_X86_64_64)
#define IS_CALL(type) ((type) == R_X86_64_JUMP_SLOT)
#else
#define IS_BINDING(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT || (type) == R_AARCH64_ABS64)
#define IS_CALL(type) ((type) == R_AARCH64_JUMP_SLOT)
#endif

typedef void *(*open_fn)(const char *, int);

static open_fn next_open;
static uint32_t opened;           /* a library was, with that flag */
static unsigned long long looked; /* how many libraries had come when we looked last */

static __attribute__((noinline)) open_fn find_open(void)
{
	store(&next_open, (open_fn)deep_ours.open());
	return load(&next_open);
}

/* The real one looks at who called it: the last call is a jump. */
EXPORT void *gpumem_dlopen(const char *file, int flags)
{
	open_fn open = load(&next_open);
	if (flags & RTLD_DEEPBIND)
		store(&opened, 1);
	if (!open && !(open = find_open()))
		return 0;
	return open(file, flags);
}
EXPORT __typeof__(gpumem_dlopen) gpumem_dlopen_base __attribute__((alias("gpumem_dlopen")));
__asm__(".symver gpumem_dlopen,dlopen@@GLIBC_2.34");
__asm__(".symver gpumem_dlopen_base,dlopen@" GLIBC_BASE);

struct look {
	int only_count, found;
};

/* What of a library is needed to read its bindings. */
struct library {
	ElfW(Addr) at, from, to; /* where it lies */
	ElfW(Addr) fixed, fixed_to; /* what is read only once it is bound */
	ElfW(Addr) page;
	const ElfW(Sym) *symbols;
	const char *strings;
	const ElfW(Rela) *calls, *others;
	size_t call_bytes, other_bytes;
};

static int describe(const struct dl_phdr_info *info, struct library *l)
{
	const ElfW(Dyn) *d = 0;
	l->at = info->dlpi_addr;
	l->from = ~0ul;
	l->page = getauxval(AT_PAGESZ);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		ElfW(Addr) start = l->at + p->p_vaddr;
		if (p->p_type == PT_DYNAMIC)
			d = (const void *)start;
		if (p->p_type == PT_GNU_RELRO)
			l->fixed = start & -l->page, l->fixed_to = (start + p->p_memsz) & -l->page;
		if (p->p_type == PT_LOAD) {
			l->from = start < l->from ? start : l->from;
			l->to = start + p->p_memsz > l->to ? start + p->p_memsz : l->to;
		}
	}
	for (; d && d->d_tag != DT_NULL; d++) {
		ElfW(Addr) at = d->d_un.d_ptr < l->at ? d->d_un.d_ptr + l->at : d->d_un.d_ptr;
		switch (d->d_tag) {
		case DT_SYMTAB: l->symbols = (const void *)at; break;
		case DT_STRTAB: l->strings = (const void *)at; break;
		case DT_JMPREL: l->calls = (const void *)at; break;
		case DT_PLTRELSZ: l->call_bytes = d->d_un.d_val; break;
		case DT_RELA: l->others = (const void *)at; break;
		case DT_RELASZ: l->other_bytes = d->d_un.d_val; break;
		}
	}
	return l->symbols && l->strings;
}

/* point makes a word of a library point to us. */
static int point(const struct library *l, void **word, void *to)
{
	ElfW(Addr) page = (ElfW(Addr))word & -l->page;
	int fixed = page >= l->fixed && page < l->fixed_to;
	if (fixed && mprotect((void *)page, l->page, PROT_READ | PROT_WRITE))
		return 0;
	store(word, to);
	if (fixed)
		mprotect((void *)page, l->page, PROT_READ);
	return 1;
}

/* bound_to is the function that a word leads to; null where it is yet to be bound, as it leads to the
 * library's own code that asks the loader. */
static void *bound_to(const struct library *l, const ElfW(Rela) *r, void *there)
{
	ElfW(Addr) at = (ElfW(Addr))there;
	return IS_CALL((int)ELF64_R_TYPE(r->r_info)) && at >= l->from && at < l->to ? 0 : there;
}

/* of_interest is a quick look at a name before the exact one. */
static int of_interest(const char *name)
{
	return (name[0] == 'c' && name[1] == 'u') || (name[0] == 'h' && name[1] == 'i') || (name[0] == 'd' && name[1] == 'l');
}

/* rebind looks at the words of a library for what others define: a function of its own is
 * none of ours. */
static void rebind(const struct library *l, const ElfW(Rela) *r, size_t bytes, struct look *look)
{
	for (const ElfW(Rela) *end = r + bytes / sizeof *r; r && r < end; r++) {
		const ElfW(Sym) *symbol = l->symbols + ELF64_R_SYM(r->r_info);
		const char *name = l->strings + symbol->st_name;
		void **word = (void **)(l->at + r->r_offset), *bound, *to;
		int type = (int)ELF64_R_TYPE(r->r_info);
		if (!IS_BINDING(type) || r->r_addend || symbol->st_shndx != SHN_UNDEF || !of_interest(name))
			continue;
		bound = bound_to(l, r, load(word));
		to = deep_ours.wrapper(name, bound);
		if (to && (look->only_count || point(l, word, to)))
			look->found++;
	}
}

/* words_of notes the words by which a library calls a function. */
static void words_of(const struct library *l, const ElfW(Rela) *r, size_t bytes, struct deep_words *w)
{
	for (const ElfW(Rela) *end = r + bytes / sizeof *r; r && r < end && w->count < DEEP_WORDS; r++) {
		const ElfW(Sym) *symbol = l->symbols + ELF64_R_SYM(r->r_info);
		const char *name = l->strings + symbol->st_name, *want = w->function;
		void **word = (void **)(l->at + r->r_offset);
		ElfW(Addr) page = (ElfW(Addr))word & -l->page;
		int type = (int)ELF64_R_TYPE(r->r_info);
		if (!IS_BINDING(type) || r->r_addend || symbol->st_shndx != SHN_UNDEF ||
		    (w->of && w->of != (IS_CALL(type) ? DEEP_CALLS : DEEP_POINTERS)))
			continue;
		while (*name && *name == *want)
			name++, want++;
		if (*name == *want)
			w->words[w->count++] = (struct deep_word){word, load(word), bound_to(l, r, load(word)),
								  page >= l->fixed && page < l->fixed_to};
	}
}

static int find_words(struct dl_phdr_info *info, size_t size, void *data)
{
	struct deep_words *w = data;
	struct library l = {0};
	const char *base = info->dlpi_name ? info->dlpi_name : "", *want = w->library;
	(void)size;
	for (const char *c = base; *c; c++)
		if (*c == '/')
			base = c + 1;
	while (*want && *base == *want)
		base++, want++;
	if (!*want && describe(info, &l)) {
		words_of(&l, l.calls, l.call_bytes, w);
		words_of(&l, l.others, l.other_bytes, w);
	}
	return w->count == DEEP_WORDS;
}

HIDDEN void *deep_find(struct deep_words *w, void *ours, void *(*unbound)(const char *))
{
	void *bound = 0;
	w->count = 0;
	dl_iterate_phdr(find_words, w);
	for (const struct deep_word *k = w->words; k < w->words + w->count; k++) {
		if (k->bound == ours || (k->bound && bound && k->bound != bound))
			return 0;
		bound = k->bound ? k->bound : bound;
	}
	return bound || !w->count ? bound : unbound(w->function);
}

static void put(const struct deep_word *w, void *to)
{
	struct library l = {.page = getauxval(AT_PAGESZ)};
	l.fixed = w->is_fixed ? (ElfW(Addr))w->at & -l.page : 0;
	l.fixed_to = l.fixed + (w->is_fixed ? l.page : 0);
	point(&l, w->at, to);
}

HIDDEN void deep_point(const struct deep_words *w, void *ours)
{
	for (int i = 0; i < w->count; i++)
		put(&w->words[i], ours);
}

HIDDEN void deep_restore(const struct deep_words *w, void *ours)
{
	for (int i = 0; i < w->count; i++)
		if (load(w->words[i].at) == ours)
			put(&w->words[i], w->words[i].was);
}

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
	struct library l = {0};
	(void)size;
	if (describe(info, &l)) {
		rebind(&l, l.calls, l.call_bytes, data);
		rebind(&l, l.others, l.other_bytes, data);
	}
	return 0;
}

/* came counts the libraries that were ever loaded. */
static int came(struct dl_phdr_info *info, size_t size, void *data)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs))
		*(unsigned long long *)data = info->dlpi_adds;
	return 1;
}

static int look(int only_count)
{
	struct look l = {.only_count = only_count};
	deep_ours.prepare();
	dl_iterate_phdr(look_at, &l);
	return l.found;
}

void deep_rebind(void)
{
	unsigned long long now = 0;
	if (!load(&opened))
		return;
	dl_iterate_phdr(came, &now);
	if (now == load(&looked))
		return;
	look(0);
	store(&looked, now);
}

int deep_passes(void) { return load(&opened) && look(1) > 0; }
