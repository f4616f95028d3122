/* A program that uses the driver, bound in one of four ways:
 * -DVIA_PLT (linked), -DVIA_DLSYM, -DVIA_CHAIN (cuGetProcAddress, from the
 * first function on), -DVIA_CHAIN_PTSZ (the same, per-thread streams).
 * -DPLUGIN makes it a library with plugin_main.
 *
 * app SCENARIO [N]
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t u64;
struct ipc { char reserved[64]; };

#define FUNCTIONS(X) \
	X(cuInit, "cuInit", (unsigned)) \
	X(cuCtxSetCurrent, "cuCtxSetCurrent", (u64)) \
	X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (u64 *, int)) \
	X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", (int)) \
	X(cuCtxCreate_v2, "cuCtxCreate", (u64 *, unsigned, int)) \
	X(cuCtxDestroy_v2, "cuCtxDestroy", (u64)) \
	X(cuMemAlloc_v2, "cuMemAlloc", (u64 *, size_t)) \
	X(cuMemFree_v2, "cuMemFree", (u64)) \
	X(cuMemAllocPitch_v2, "cuMemAllocPitch", (u64 *, size_t *, size_t, size_t, unsigned)) \
	X(cuMemAllocManaged, "cuMemAllocManaged", (u64 *, size_t, unsigned)) \
	X(ASYNC(cuMemAllocAsync), "cuMemAllocAsync", (u64 *, size_t, void *)) \
	X(ASYNC(cuMemFreeAsync), "cuMemFreeAsync", (u64, void *)) \
	X(cuMemHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned)) \
	X(cuMemAllocHost_v2, "cuMemAllocHost", (void **, size_t)) \
	X(cuMemFreeHost, "cuMemFreeHost", (void *)) \
	X(cuMemHostRegister_v2, "cuMemHostRegister", (void *, size_t, unsigned)) \
	X(cuArrayCreate_v2, "cuArrayCreate", (u64 *, const u64 *)) \
	X(cuMemCreate, "cuMemCreate", (u64 *, size_t, const void *, u64)) \
	X(cuMemRelease, "cuMemRelease", (u64)) \
	X(cuMemAddressReserve, "cuMemAddressReserve", (u64 *, size_t, size_t, u64, u64)) \
	X(cuMemMap, "cuMemMap", (u64, size_t, size_t, u64, u64)) \
	X(cuMemUnmap, "cuMemUnmap", (u64, size_t)) \
	X(cuEventCreate, "cuEventCreate", (u64 *, unsigned)) \
	X(cuEventDestroy_v2, "cuEventDestroy", (u64)) \
	X(cuStreamCreate, "cuStreamCreate", (u64 *, unsigned)) \
	X(cuStreamDestroy_v2, "cuStreamDestroy", (u64)) \
	X(cuGraphInstantiateWithFlags, "cuGraphInstantiate", (u64 *, void *, u64)) \
	X(cuModuleLoadData, "cuModuleLoadData", (u64 *, const void *)) \
	X(cuModuleUnload, "cuModuleUnload", (u64)) \
	X(cuLibraryLoadData, "cuLibraryLoadData", (u64 *, const void *, void *, void *, unsigned, void *, void *, unsigned)) \
	X(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", (u64 *, struct ipc, unsigned))

#ifdef VIA_CHAIN_PTSZ
#define ASYNC(name) name##_ptsz
#else
#define ASYNC(name) name
#endif

#ifdef VIA_PLT
#define X(name, base, args) int name args;
FUNCTIONS(X)
#undef X
#define call(name) name
static void bind(void) {}
#else
#define PASTE(name) p_##name
#define call(name) PASTE(name)
#define Y(name, base, args) Z(name, base, args)
#define Z(name, base, args) static int (*p_##name) args;
FUNCTIONS(Y)
#undef Z

static void need(void *p, const char *name)
{
	if (!p) {
		fprintf(stderr, "%s is missing\n", name);
		exit(3);
	}
}

static void bind(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	need(lib, "libcuda.so.1");
#ifdef VIA_DLSYM
#define Z(name, base, args) p_##name = dlsym(lib, #name); need(p_##name, #name);
	FUNCTIONS(Y)
#else
	int (*get)(const char *, void **, int, u64, int *) = dlsym(lib, "cuGetProcAddress_v2");
	int status;
	u64 flags = 0;
	void *f = 0;
#ifdef VIA_CHAIN_PTSZ
	flags = 2;
#endif
	need(get, "cuGetProcAddress_v2");
	if (get("cuGetProcAddress", (void **)&get, 12000, 0, &status))
		exit(4);
#define Z(name, base, args) if (get(base, &f, 12000, flags, &status)) exit(5); p_##name = f;
	FUNCTIONS(Y)
#endif
}
#endif

#define OK(x) do { int rc_ = (x); if (rc_) { fprintf(stderr, "%s: %d\n", #x, rc_); exit(2); } } while (0)

static u64 ctx;

static void begin(void)
{
	bind();
	OK(call(cuInit)(0));
	OK(call(cuDevicePrimaryCtxRetain)(&ctx, 0));
	OK(call(cuCtxSetCurrent)(ctx));
}

__attribute__((noinline)) void leak_here(u64 size)
{
	u64 p;
	OK(call(cuMemAlloc_v2)(&p, size));
	__asm__ volatile("" ::: "memory");
}

/* To the linker a method of C++. */
void leak_event_here(void) __asm__("_ZN4test4Pool15leak_event_hereEv");

__attribute__((noinline)) void leak_event_here(void)
{
	u64 e;
	OK(call(cuEventCreate)(&e, 0));
	__asm__ volatile("" ::: "memory");
}

/* Device memory: 5 MiB of cuMemAlloc, 1024 × 4 pitched, 8 KiB managed, 16 KiB
 * stream-ordered, a 64 × 64 × 4 array, 2 MiB physical that only its mapping
 * holds. The rest is given back. */
static void basic(void)
{
	u64 p[3], h, va, x, y, desc[3] = {64, 64, 0x20 | 1ull << 32};
	void *host;
	size_t pitch;
	struct { int type, handles, where, device; u64 rest[2]; } prop = {1, 0, 1, 0, {0}};
	struct ipc ipc = {{0}};
	begin();
	for (int i = 0; i < 3; i++)
		OK(call(cuMemAlloc_v2)(&p[i], (size_t)1 << (20 + i)));
	OK(call(cuMemFree_v2)(p[1]));
	OK(call(cuMemFree_v2)(0));
	OK(call(cuMemAllocPitch_v2)(&x, &pitch, 1000, 4, 4));
	OK(call(cuMemAllocManaged)(&x, 8192, 1));
	OK(call(ASYNC(cuMemAllocAsync))(&x, 16384, 0));
	OK(call(ASYNC(cuMemAllocAsync))(&x, 16384, 0));
	OK(call(ASYNC(cuMemFreeAsync))(x, 0));
	OK(call(cuArrayCreate_v2)(&x, desc));
	OK(call(cuMemAddressReserve)(&va, 8 << 20, 0, 0, 0));
	OK(call(cuMemCreate)(&h, 2 << 20, &prop, 0));
	OK(call(cuMemMap)(va, 2 << 20, 0, h, 0));
	OK(call(cuMemRelease)(h));
	OK(call(cuMemCreate)(&h, 2 << 20, &prop, 0));
	OK(call(cuMemMap)(va + (2 << 20), 2 << 20, 0, h, 0));
	OK(call(cuMemCreate)(&y, 2 << 20, &prop, 0));
	OK(call(cuMemMap)(va + (4 << 20), 2 << 20, 0, y, 0));
	OK(call(cuMemRelease)(h));
	OK(call(cuMemUnmap)(va + (2 << 20), 4 << 20)); /* both at once */
	OK(call(cuMemRelease)(y));
	OK(call(cuMemHostAlloc)(&host, 4096, 0));
	OK(call(cuMemAllocHost_v2)(&host, 8192));
	OK(call(cuMemFreeHost)(host));
	OK(call(cuMemHostRegister_v2)((void *)4096, 12288, 0)); /* an address that nobody may read */
	for (int i = 0; i < 3; i++)
		OK(call(cuEventCreate)(&x, 0));
	OK(call(cuEventDestroy_v2)(x));
	for (int i = 0; i < 2; i++)
		OK(call(cuStreamCreate)(&x, 0));
	OK(call(cuStreamDestroy_v2)(x));
	OK(call(cuGraphInstantiateWithFlags)(&x, 0, 0));
	for (int i = 0; i < 2; i++)
		OK(call(cuModuleLoadData)(&x, ""));
	OK(call(cuModuleUnload)(x));
	OK(call(cuLibraryLoadData)(&x, "", 0, 0, 5, 0, 0, 8));
	ipc.reserved[63] = 'z';
	OK(call(cuIpcOpenMemHandle_v2)(&x, ipc, 1));
}

static void *churn(void *arg)
{
	u64 p;
	OK(call(cuCtxSetCurrent)(ctx));
	for (long n = (long)arg; n; n--) {
		OK(call(cuMemAlloc_v2)(&p, 4096));
		OK(call(cuMemFree_v2)(p));
	}
	return 0;
}

static void threads(long n)
{
	pthread_t t[4];
	begin();
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, churn, (void *)n);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void deep(int depth, long n)
{
	if (depth)
		deep(depth - 1, n);
	else
		churn((void *)n);
	__asm__ volatile("" ::: "memory");
}

static void bench(long n)
{
	double best = 1e9;
	begin();
	for (int i = 0; i < 50; i++) { /* the least of many: others use the machine, too */
		double start = seconds();
		deep(12, n);
		if (seconds() - start < best)
			best = seconds() - start;
	}
	printf("%.2f\n", best / (double)n * 1e9);
}

static void forks(long n, int use)
{
	begin();
	leak_here(4096);
	for (long i = 0; i < n; i++) {
		int status;
		pid_t pid = fork();
		if (pid < 0)
			exit(6);
		if (pid == 0) {
			if (use)
				leak_here(1000);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			exit(7);
	}
	leak_here(8192);
}

/* Whoever holds a descriptor of ours over this would write into a file of the
 * program's. */
static void closefds(void)
{
	char path[] = "/tmp/gpumem-test-XXXXXX";
	struct stat st;
	int fd;
	for (int i = 3; i < 1024; i++)
		close(i);
	begin();
	fd = mkstemp(path);
	unlink(path);
	for (int i = fd + 1; i < 64; i++)
		dup2(fd, i);
	leak_here(4096);
	if (fstat(fd, &st) || st.st_size != 0)
		exit(8);
}

static void jail(const char *dir)
{
	begin();
	if (chroot(dir) || chdir("/"))
		exit(9);
	leak_here(4096);
}

static void lower(void)
{
	int status;
	pid_t pid;
	begin();
	leak_here(4096);
	if (setgid(65534) || setuid(65534))
		exit(10);
	leak_here(8192);
	pid = fork();
	if (pid == 0) {
		leak_here(1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (status)
		exit(11);
}

/* Frame pointers that lead nowhere. (Not in the plugin: a function whose
 * address is taken is bound in another way.) */
__attribute__((noinline)) static void bad_frames(void)
{
#ifndef PLUGIN
	begin();
	static u64 p;
	static const uintptr_t bad[] = {0, 8, 1, ~(uintptr_t)0 - 15, 0x7fffffffe000, 0x400000, 0xdeadbeefdeadbee8};
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
#ifdef __x86_64__
		int (*f)(u64 *, size_t) = call(cuMemAlloc_v2);
		u64 *out = &p;
		size_t size = 100;
		__asm__ volatile("push %%rbp\n\tsub $8, %%rsp\n\tmov %3, %%rbp\n\tcall *%2\n\tadd $8, %%rsp\n\tpop %%rbp"
			: "+D"(out), "+S"(size) : "r"(f), "r"(bad[i])
			: "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
#else
		OK(call(cuMemAlloc_v2)(&p, 100));
#endif
	}
#endif
}

/* The lookups of libcudart 12.9 that matter, as the stub driver saw them:
 * each must be answered with a function of the interposer. */
static void lookups(void)
{
	static const struct { const char *name; int version; u64 flags; } asked[] = {
		{"cuArrayCreate", 3020, 0}, {"cuArrayDestroy", 2000, 0}, {"cuCtxCreate", 3020, 0},
		{"cuDevicePrimaryCtxRelease", 7000, 0}, {"cuDevicePrimaryCtxReset", 7000, 0}, {"cuDevicePrimaryCtxRetain", 7000, 0},
		{"cuEventCreate", 2000, 0}, {"cuEventDestroy", 4000, 0}, {"cuGraphExecDestroy", 10000, 0},
		{"cuGraphInstantiate", 10000, 0}, {"cuGraphInstantiate", 11000, 0}, {"cuGraphInstantiate", 12000, 0},
		{"cuIpcCloseMemHandle", 4010, 0}, {"cuIpcOpenMemHandle", 4010, 0}, {"cuIpcOpenMemHandle", 11000, 0},
		{"cuLibraryLoadData", 12000, 0}, {"cuLibraryUnload", 12000, 0}, {"cuMemAlloc", 3020, 0},
		{"cuMemAllocAsync", 11020, 0}, {"cuMemAllocAsync", 11020, 2}, {"cuMemAllocFromPoolAsync", 11020, 0},
		{"cuMemAllocManaged", 6000, 0}, {"cuMemAllocPitch", 3020, 0}, {"cuMemFree", 3020, 0}, {"cuMemFree", 3020, 2},
		{"cuMemFreeAsync", 11020, 0}, {"cuMemFreeAsync", 11020, 2}, {"cuMemFreeHost", 2000, 0}, {"cuMemHostAlloc", 2020, 0},
		{"cuMemHostRegister", 6050, 0}, {"cuMemHostUnregister", 4000, 0}, {"cuMemPoolCreate", 11020, 0},
		{"cuMemPoolDestroy", 11020, 0}, {"cuGetProcAddress", 11030, 0}, {"cuGetProcAddress", 12000, 0}, {"cuInit", 2000, 0},
	};
	void *lib = dlopen("libcuda.so.1", RTLD_NOW), *f;
	int (*get)(const char *, void **, int, u64, int *) = lib ? dlsym(lib, "cuGetProcAddress_v2") : 0;
	int status;
	Dl_info info;
	if (!get)
		exit(17);
	for (unsigned i = 0; i < sizeof asked / sizeof asked[0]; i++)
		if (get(asked[i].name, &f, asked[i].version, asked[i].flags, &status) || !dladdr(f, &info) || !strstr(info.dli_fname, "libgpumem_")) {
			fprintf(stderr, "%s, version %d, flags %d is not wrapped\n", asked[i].name, asked[i].version, (int)asked[i].flags);
			exit(18);
		}
	/* The function of CUDA 2 has 32-bit sizes: it is not ours to wrap. Others
	 * have nothing to do with memory. */
	if (get("cuMemAlloc", &f, 2000, 0, &status) || !dladdr(f, &info) || strstr(info.dli_fname, "libgpumem_"))
		exit(19);
	if (get("cuGetExportTable", &f, 3000, 0, &status) || !dladdr(f, &info) || strstr(info.dli_fname, "libgpumem_"))
		exit(20);
	if (!get("cuNoSuchFunction", &f, 12000, 0, &status) || f || status != 1)
		exit(21);
}

static int run(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;
	if (!strcmp(what, "basic"))
		basic();
	else if (!strcmp(what, "lookups"))
		lookups();
	else if (!strcmp(what, "nothing"))
		;
	else if (!strcmp(what, "load"))
		begin();
	else if (!strcmp(what, "threads"))
		threads(n);
	else if (!strcmp(what, "forever")) {
		begin();
		puts("ready");
		fflush(stdout);
		for (;;)
			threads(1000000);
	} else if (!strcmp(what, "bench"))
		bench(n);
	else if (!strcmp(what, "fork"))
		forks(n, 0);
	else if (!strcmp(what, "forkuse"))
		forks(n, 1);
	else if (!strcmp(what, "closefds"))
		closefds();
	else if (!strcmp(what, "jail"))
		jail(argv[2]);
	else if (!strcmp(what, "lower"))
		lower();
	else if (!strcmp(what, "badframes"))
		bad_frames();
	else if (!strcmp(what, "leak")) {
		begin();
		while (n--) {
			leak_here(1 << 20);
			leak_event_here();
		}
	} else if (!strcmp(what, "fail")) {
		u64 p;
		begin();
		leak_here(3 << 20);
		if (call(cuMemAlloc_v2)(&p, 2 << 20) != 2)
			exit(12);
	} else if (!strcmp(what, "badfree")) {
		u64 p;
		begin();
		OK(call(cuMemAlloc_v2)(&p, 4096));
		setenv("STUB_FAIL_FREE", "1", 1);
		if (call(cuMemFree_v2)(p) != 1)
			exit(13);
	} else if (!strcmp(what, "errno")) {
		u64 p;
		begin();
		errno = 5;
		OK(call(cuMemAlloc_v2)(&p, 4096));
		if (errno != 77) /* what the driver left */
			exit(14);
		errno = 5;
		OK(call(cuMemFree_v2)(p));
		if (errno != 5)
			exit(15);
	} else if (!strcmp(what, "context")) {
		u64 c;
		begin();
		leak_here(4096);
		OK(call(cuCtxCreate_v2)(&c, 0, 1));
		leak_here(1 << 20);
		leak_event_here();
		OK(call(cuCtxDestroy_v2)(c));
	} else if (!strcmp(what, "exec")) {
		begin();
		leak_here(1 << 20);
		execl(argv[0], argv[0], "fail", (char *)0);
		exit(16);
	} else if (!strcmp(what, "interactive")) {
		begin();
		char line[64];
		puts("ready");
		fflush(stdout);
		while (fgets(line, sizeof line, stdin)) {
			if (!strcmp(line, "basic\n"))
				basic();
			else {
				leak_here((u64)atol(line));
				leak_event_here();
			}
			puts("done");
			fflush(stdout);
		}
	} else
		exit(1);
	return 0;
}

#ifdef PLUGIN
int plugin_main(int argc, char **argv) { return run(argc, argv); }
extern void host_register(int (*)(int, char **)) __attribute__((weak));
static __attribute__((constructor)) void announce(void)
{
	if (host_register)
		host_register(plugin_main);
}
#else
int main(int argc, char **argv) { return run(argc, argv); }
#endif
