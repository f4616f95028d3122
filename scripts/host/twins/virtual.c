/* Each request maps 2 MiB of the device and unmaps it. Faulty: the memory is not released. */
#include "cuda.h"

int main(int argc, char **argv)
{
	time_t end = time(NULL) + atoi(argv[1]);
	int props[8] = {1, 0, 1};
	uint64_t at, memory;
	device();
	for (cuMemAddressReserve(&at, 2 << 20, 0, 0, 0); time(NULL) < end;) {
		cuMemCreate(&memory, 2 << 20, props, 0);
		cuMemMap(at, 2 << 20, 0, memory, 0);
		usleep(40000);
		cuMemUnmap(at, 2 << 20);
		if (argc > 2)
			cuMemRelease(memory);
	}
}
