/* Native programs with a known truth, for native.sh: each is faulty, or with
 * --healthy its twin. They use the CUDA runtime, whose few functions are declared
 * here, so that no toolkit is needed to compile.
 *
 *   native NAME [--healthy] [--seconds N]
 *   native --list        name, verdict, site of the fault
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef struct event *event_t;
typedef struct stream *stream_t;
int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaMallocAsync(void **, size_t, stream_t);
int cudaFreeAsync(void *, stream_t);
int cudaMallocHost(void **, size_t);
int cudaFreeHost(void *);
int cudaMallocManaged(void **, size_t, unsigned);
int cudaMemset(void *, int, size_t);
int cudaMemsetAsync(void *, int, size_t, stream_t);
int cudaDeviceSynchronize(void);
int cudaDeviceGetDefaultMemPool(void **, int);
int cudaMemPoolCreate(void **, const void *);
int cudaMemPoolDestroy(void *);
int cudaMemPoolSetAttribute(void *, int, void *);
int cudaMallocFromPoolAsync(void **, size_t, void *, stream_t);
int cudaMallocPitch(void **, size_t *, size_t, size_t);
int cudaStreamCreate(stream_t *);
int cudaStreamDestroy(stream_t);
int cudaGetDriverEntryPointByVersion(const char *, void **, unsigned, unsigned long long, int *);
int cudaEventCreate(event_t *);
int cudaEventRecord(event_t, stream_t);
int cudaEventDestroy(event_t);

#define APART __attribute__((noinline))
#define MIB (1u << 20)
#define MOST 100000
static int healthy, step;
static void *volatile kept[MOST]; /* or the compiler sees that nobody reads it */
static int count;

static void check(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "%s: error %d\n", what, rc);
		exit(1);
	}
}

static void keep(void *p)
{
	if (count < MOST)
		kept[count++] = p;
}

APART void *device_block(size_t size)
{
	void *p;
	check(cudaMalloc(&p, size), "cudaMalloc");
	check(cudaMemset(p, 1, size), "cudaMemset");
	return p;
}

/* One block of MiB in five steps, kept or given back. */
APART void grow_cache(void)
{
	void *p;
	if (step % 5)
		return;
	p = device_block(MIB);
	if (healthy)
		check(cudaFree(p), "cudaFree");
	else
		keep(p);
}

/* An arena that keeps every block for a request of its size: of sizes that are all
 * new, or of sixteen. */
static struct {
	size_t size;
	void *block;
} arena[MOST];

APART void *arena_take(size_t size)
{
	for (int i = 0; i < count; i++)
		if (arena[i].size == size)
			return arena[i].block;
	arena[count].size = size;
	arena[count].block = device_block(size);
	return arena[count++].block;
}

APART void serve_request(void)
{
	if (step % 3 == 0 && count < 3000)
		arena_take(healthy ? (size_t)(1 + step % 16) * 65536 : MIB + (size_t)step * 512);
}

/* Five stream-ordered blocks a step, of which one is forgotten at times. */
APART void forget_one(void)
{
	for (int i = 0; i < 5; i++) {
		void *p;
		check(cudaMallocAsync(&p, 256 * 1024u * (1 + i), 0), "cudaMallocAsync");
		check(cudaMemsetAsync(p, 1, 4096, 0), "cudaMemsetAsync");
		if (healthy || i || step % 4)
			check(cudaFreeAsync(p, 0), "cudaFreeAsync");
		else
			keep(p);
	}
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

APART void pin_staging(void)
{
	void *p;
	if (step % 5)
		return;
	check(cudaMallocHost(&p, MIB), "cudaMallocHost");
	memset(p, 1, MIB);
	if (healthy)
		check(cudaFreeHost(p), "cudaFreeHost");
	else
		keep(p);
}

APART void remember_batch(void)
{
	char *p = malloc(256 * 1024);
	memset(p, step, 256 * 1024);
	if (healthy)
		free(p);
	else
		keep(p);
}

APART void time_step(void)
{
	for (int i = 0; i < 20; i++) {
		event_t e;
		check(cudaEventCreate(&e), "cudaEventCreate");
		check(cudaEventRecord(e, 0), "cudaEventRecord");
		if (healthy)
			check(cudaEventDestroy(e), "cudaEventDestroy");
	}
}

/* Blocks of ever new sizes come from the driver's pool and go back to it. Faulty: its
 * release threshold has no limit, and it keeps what the largest one took. */
static void keep_pool(void *pool)
{
	uint64_t all = healthy ? 0 : ~0ull;
	check(cudaMemPoolSetAttribute(pool, 4, &all), "cudaMemPoolSetAttribute");
}

APART void work_in_pool(void)
{
	static void *pool;
	void *p;
	if (!pool) {
		check(cudaDeviceGetDefaultMemPool(&pool, 0), "cudaDeviceGetDefaultMemPool");
		keep_pool(pool);
	}
	check(cudaMallocAsync(&p, MIB * (size_t)(1 + (healthy ? step % 16 : step / 2)), 0), "cudaMallocAsync");
	check(cudaMemsetAsync(p, 1, 4096, 0), "cudaMemsetAsync");
	check(cudaFreeAsync(p, 0), "cudaFreeAsync");
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

/* A pool of the program's own, of which blocks are lost. */
APART void lose_in_own_pool(void)
{
	static const struct { int type, handles, location, id; char rest[200]; } props = {1, 0, 1, 0, {0}};
	static void *pool;
	void *p;
	if (!pool) {
		check(cudaMemPoolCreate(&pool, &props), "cudaMemPoolCreate");
		keep_pool(pool);
	}
	check(cudaMallocFromPoolAsync(&p, MIB, pool, 0), "cudaMallocFromPoolAsync");
	if (healthy || step % 5)
		check(cudaFreeAsync(p, 0), "cudaFreeAsync");
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

/* The driver itself, found through the runtime: physical memory, and plain. */
static void *entry(const char *name)
{
	void *f = 0;
	int status = 0;
	check(cudaGetDriverEntryPointByVersion(name, &f, 12000, 0, &status), name);
	return f;
}

APART void create_physical(void)
{
	static int (*create)(uint64_t *, size_t, const void *, uint64_t), (*release)(uint64_t);
	static const int props[32] = {1, 0, 1, 0};
	uint64_t p;
	if (!create) {
		create = (int (*)(uint64_t *, size_t, const void *, uint64_t))entry("cuMemCreate");
		release = (int (*)(uint64_t))entry("cuMemRelease");
	}
	if (step % 5)
		return;
	check(create(&p, 2 * MIB, props, 0), "cuMemCreate");
	if (healthy)
		check(release(p), "cuMemRelease");
}

APART void ask_driver(void)
{
	static int (*alloc)(uint64_t *, size_t), (*release)(uint64_t);
	uint64_t p;
	if (!alloc) {
		alloc = (int (*)(uint64_t *, size_t))entry("cuMemAlloc");
		release = (int (*)(uint64_t))entry("cuMemFree");
	}
	if (step % 5)
		return;
	check(alloc(&p, MIB), "cuMemAlloc");
	if (healthy)
		check(release(p), "cuMemFree");
}

APART void keep_image(void)
{
	void *p;
	size_t pitch;
	if (step % 5)
		return;
	check(cudaMallocPitch(&p, &pitch, 1000, 1000), "cudaMallocPitch");
	if (healthy)
		check(cudaFree(p), "cudaFree");
}

APART void open_stream(void)
{
	stream_t s;
	if (step % 2)
		return;
	check(cudaStreamCreate(&s), "cudaStreamCreate");
	if (healthy)
		check(cudaStreamDestroy(s), "cudaStreamDestroy");
}

/* Sound programs that look like leaks: a ring that fills, churn, a dataset that is
 * mapped into memory and read. */
APART void fill_ring(void)
{
	static void *ring[200];
	int at = step % 200;
	if (ring[at])
		check(cudaFree(ring[at]), "cudaFree");
	ring[at] = device_block(MIB);
}

APART void churn(void)
{
	void *list[10];
	for (int i = 0; i < 10; i++)
		list[i] = device_block((size_t)(1 + rand() % 64) * 65536);
	for (int i = 0; i < 10; i++)
		check(cudaFree(list[i]), "cudaFree");
}

APART void read_dataset(void)
{
	const size_t size = 1u << 30;
	static unsigned char *data;
	static size_t at;
	static unsigned sum;
	if (!data) {
		static char page[MIB];
		char name[] = "/tmp/gpumem-native-XXXXXX";
		int fd = mkstemp(name);
		check(fd < 0, "mkstemp");
		unlink(name);
		for (size_t n = 0; n < size / MIB; n++)
			check(write(fd, memset(page, (int)n, MIB), MIB) != MIB, "write");
		data = mmap(0, size, PROT_READ, MAP_SHARED, fd, 0);
		check(data == MAP_FAILED, "mmap");
	}
	for (size_t end = at + MIB; at < end && at < size; at += 4096)
		sum += data[at];
	fill_ring();
	(void)sum;
}

static const struct {
	const char *name, *verdict, *site;
	void (*work)(void);
} programs[] = {
	{"cache", "app-leak", "device_block", grow_cache},
	{"arena", "app-leak", "device_block", serve_request},
	{"async", "app-leak", "forget_one", forget_one},
	{"pinned", "host-growth", "pin_staging", pin_staging},
	{"host", "host-growth", "-", remember_batch},
	{"events", "driver-growth", "time_step", time_step},
	{"retained", "pool-growth", "-", work_in_pool},
	{"ownpool", "app-leak", "lose_in_own_pool", lose_in_own_pool},
	{"physical", "app-leak", "create_physical", create_physical},
	{"driver", "app-leak", "ask_driver", ask_driver},
	{"pitched", "app-leak", "keep_image", keep_image},
	{"streams", "driver-growth", "open_stream", open_stream},
	{"ring", "none", "-", fill_ring},
	{"churn", "none", "-", churn},
	{"dataset", "none", "-", read_dataset},
};
#define PROGRAMS (sizeof programs / sizeof programs[0])

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	double seconds = 20;
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--healthy"))
			healthy = 1;
		else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
			seconds = atof(argv[++i]);
	}
	for (size_t i = 0; i < PROGRAMS; i++) {
		if (!strcmp(name, "--list"))
			printf("%s %s %s\n", programs[i].name, programs[i].verdict, programs[i].site);
		if (strcmp(name, programs[i].name))
			continue;
		device_block(300u * MIB); /* its model */
		for (double end = now() + seconds; now() < end; step++) {
			programs[i].work();
			usleep(5000);
		}
		return 0;
	}
	return strcmp(name, "--list") ? 2 : 0;
}
