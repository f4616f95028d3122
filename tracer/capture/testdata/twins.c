/* The calls of HIP that have a twin among CUDA's, one of each: what is left at the end
 * is what it says. Of refused the last is refused. twins [all|given|reset|refused] [wait]: it says "ready", and begins with a
 * line of its input; it says "done", and ends with the input. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
struct extent { size_t width, height, depth; };
struct pitched { u64 ptr; size_t pitch, width, height; };
struct ipc { char reserved[64]; };
int hipSetDevice(int);
int hipMalloc(u64 *, size_t);
int hipFree(u64);
int hipMalloc3D(struct pitched *, struct extent);
int hipMallocPitch(u64 *, size_t *, size_t, size_t);
int hipMallocManaged(u64 *, size_t, unsigned);
int hipArrayCreate(u64 *, const u64 *);
int hipArray3DCreate(u64 *, const u64 *);
int hipMallocArray(u64 *, const int *, size_t, size_t, unsigned);
int hipMalloc3DArray(u64 *, const int *, struct extent, unsigned);
int hipArrayDestroy(u64);
int hipFreeArray(u64);
int hipMipmappedArrayCreate(u64 *, const u64 *, unsigned);
int hipMallocMipmappedArray(u64 *, const int *, struct extent, unsigned, unsigned);
int hipMipmappedArrayDestroy(u64);
int hipFreeMipmappedArray(u64);
int hipIpcOpenMemHandle(u64 *, struct ipc, unsigned);
int hipIpcCloseMemHandle(u64);
int hipModuleLoadFatBinary(u64 *, const void *);
int hipModuleUnload(u64);
int hipLibraryLoadData(u64 *, const void *, void *, void **, unsigned, void *, void **, unsigned);
int hipLibraryUnload(u64);
int hipDeviceReset(void);
int hipGetLastError(void);
int hipGetProcAddress(const char *, void **, int, u64, int *);

#define OK(x) do { int rc_ = (x); if (rc_) { fprintf(stderr, "%s: %d\n", #x, rc_); exit(2); } } while (0)
#define KIB 1024ull
static const int floats[5] = {32, 0, 0, 0, 2};

static void done(void)
{
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		;
}

int main(int argc, char **argv)
{
	int given = argc > 1 && !strcmp(argv[1], "given"), reset = argc > 1 && !strcmp(argv[1], "reset");
	u64 a[16];
	u64 plane[3] = {64, 64, (u64)1 << 32 | 0x20}; /* one channel of float: 16 KiB */
	u64 solid[5] = {64, 64, 4, (u64)1 << 32 | 0x20, 0};
	size_t pitch;
	struct pitched p;
	struct ipc ipc;
	int (*by_name)(u64 *, size_t);
	memset(&ipc, 'z', sizeof ipc);
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		while (getchar() != '\n')
			;
		atexit(done);
	}
	if (argc > 1 && !strcmp(argv[1], "refused")) {
		OK(hipSetDevice(1));
		OK(hipMalloc(&a[0], 3072 * KIB));
		return hipMalloc(&a[1], 2048 * KIB) != 2 || hipGetLastError() != 2; /* the error is still told */
	}
	OK(hipMalloc3D(&p, (struct extent){100, 8, 4})); /* rows of 512: 16 KiB */
	OK(hipMallocPitch(&a[0], &pitch, 100, 32)); /* 16 KiB */
	OK(hipMallocManaged(&a[1], 64 * KIB, 1));
	OK(hipArrayCreate(&a[2], plane)); /* 16 KiB */
	OK(hipArray3DCreate(&a[3], solid)); /* 64 KiB */
	OK(hipMallocArray(&a[4], floats, 64, 64, 0)); /* 16 KiB */
	OK(hipMalloc3DArray(&a[5], floats, (struct extent){64, 64, 4}, 7)); /* 64 KiB */
	OK(hipMipmappedArrayCreate(&a[6], solid, 2)); /* 64 and 8 KiB */
	OK(hipMallocMipmappedArray(&a[7], floats, (struct extent){64, 64, 4}, 2, 7)); /* 72 KiB */
	OK(hipIpcOpenMemHandle(&a[8], ipc, 1));
	OK(hipModuleLoadFatBinary(&a[9], ""));
	OK(hipLibraryLoadData(&a[10], "", 0, 0, 0, 0, 0, 7));
	OK(hipGetProcAddress("hipMalloc", (void **)&by_name, 60000, 0, 0));
	OK(by_name(&a[11], 32 * KIB));
	OK(hipSetDevice(1));
	OK(hipMalloc(&a[12], 128 * KIB));
	OK(hipSetDevice(0));
	if (reset) { /* the other device keeps its own */
		OK(hipDeviceReset());
		return 0;
	}
	if (!given)
		return 0;
	OK(hipFree(p.ptr));
	OK(hipFree(a[0]));
	OK(hipFree(a[1]));
	OK(hipArrayDestroy(a[2]));
	OK(hipFreeArray(a[3]));
	OK(hipFreeArray(a[4]));
	OK(hipArrayDestroy(a[5]));
	OK(hipMipmappedArrayDestroy(a[6]));
	OK(hipFreeMipmappedArray(a[7]));
	OK(hipIpcCloseMemHandle(a[8]));
	OK(hipModuleUnload(a[9]));
	OK(hipLibraryUnload(a[10]));
	OK(hipFree(a[11]));
	OK(hipFree(a[12]));
	return 0;
}
