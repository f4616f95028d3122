// What the dynamic loader does for a program.
#include "acts.h"
#include <dlfcn.h>
#include <link.h>

static const char *base(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void from(const char *name, void *address) {
	Dl_info info;
	printf("%s: %s\n", name, !address ? "none" : dladdr(address, &info) ? base(info.dli_fname) : "of nobody");
}

static int open1(int argc, char **argv) {
	void *math = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	double (*root)(double) = math ? (double (*)(double))dlsym(math, "sqrt") : 0;
	printf("the root of 2 is %.3f\n", root ? root(2) : 0);
	printf("closed: %d\n", math ? dlclose(math) : -1);
	void *none = dlopen("libnone.so.9", RTLD_NOW);
	printf("none: %s\n", none ? "opened" : dlerror());
	printf("a second error: %s\n", dlerror() ? "yes" : "no");
	void *program = dlopen(0, RTLD_NOW);
	from("main", dlsym(program, "main"));
	printf("nothing: %s\n", dlsym(program, "there_is_no_such_name") ? "found" : dlerror());
	return 0;
}

// owners tells whose the functions are that a program calls.
static int owners(int argc, char **argv) {
	static const char *const names[] = {"malloc", "free", "dlopen", "dlsym", "dlclose", "fork", "exit", "write",
		"sigaction", "pthread_create", "mmap", "__libc_start_main", "getenv", "ioctl", "environ", "cuMemAlloc_v2",
		"cuGetProcAddress", 0};
	for (int i = 0; names[i]; i++)
		from(names[i], dlsym(RTLD_DEFAULT, names[i]));
	from("malloc as called", malloc);
	from("dlsym as called", dlsym);
	from("dlopen as called", dlopen);
	from("the next malloc", dlsym(RTLD_NEXT, "malloc"));
	from("memcpy of a version", dlvsym(RTLD_DEFAULT, "memcpy", "GLIBC_2.14"));
	return 0;
}

static int list1(struct dl_phdr_info *info, size_t size, void *data) {
	printf("object %s\n", base(info->dlpi_name));
	return 0;
}

static int objects(int argc, char **argv) { return dl_iterate_phdr(list1, 0); }

static int spaceOfItsOwn(int argc, char **argv) {
	void *math = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
	if (!math)
		return printf("dlmopen: %s\n", dlerror()), 1;
	Lmid_t id = -1;
	dlinfo(math, RTLD_DI_LMID, &id);
	double (*root)(double) = (double (*)(double))dlsym(math, "sqrt");
	printf("a space of its own: %d, the root of 2 is %.3f\n", id != LM_ID_BASE, root(2));
	return dlclose(math);
}

static int twice(int argc, char **argv) {
	void *a = dlopen(argv[1], RTLD_NOW), *b = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
	printf("%s: %s\n", argv[1], a ? "opened" : dlerror());
	printf("the same: %d\n", a == b);
	return 0;
}

const struct act loadingActs[] = {
	{"dlopen", open1}, {"owners", owners}, {"objects", objects}, {"dlmopen", spaceOfItsOwn},
	{"open", twice}, {0},
};
