/* An arena that tells gpumem what it hands out and what it keeps.
 *
 *	cc -o arena arena.c && gpumem run -- ./arena keeps
 *
 * keeps: blocks of ever new sizes are given back, and the arena keeps them all.
 * leaks: the program forgets blocks. sound: neither. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#define GPUMEM_IMPLEMENTATION
#include "../gpumem.h"

enum { MOST = 100000 };
static struct block {
	size_t size;
	void *memory;
	int used;
} blocks[MOST];
static int made;
static long long live, idle, count;

/* What the arena tells: three lines, at the end of take and of give_back. */
static void tell(void) { gpumem_sample(live, idle, count); }

static struct block *take(size_t size)
{
	int i;
	for (i = 0; i < made; i++)
		if (!blocks[i].used && blocks[i].size == size)
			break;
	if (i == made) {
		if (made == MOST)
			exit(1);
		blocks[made].size = size;
		blocks[made++].memory = malloc(size); /* a real one asks the device */
		idle += (long long)size;
	}
	blocks[i].used = 1;
	live += (long long)size, idle -= (long long)size, count++;
	tell();
	return &blocks[i];
}

static void give_back(struct block *b)
{
	b->used = 0;
	live -= (long long)b->size, idle += (long long)b->size, count--;
	tell();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "sound";
	int steps = argc > 2 ? atoi(argv[2]) : 1000, step;
	struct timespec pause;
	pause.tv_sec = 0, pause.tv_nsec = 5000000;
	gpumem_hello("arena", "example");
	for (step = 0; step < steps; step++) {
		size_t size = 65536 + (size_t)(strcmp(how, "keeps") ? step % 16 : step) * 512;
		struct block *b = take(size);
		gpumem_step(step);
		nanosleep(&pause, 0);
		if (strcmp(how, "leaks") || step % 4)
			give_back(b);
	}
	gpumem_done();
	return 0;
}
