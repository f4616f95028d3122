/* A program that is linked to a fixed address and takes that of free, as some builds of Python do: then free is
 * at one place for who calls it, and at another for who passes it on. Argument: the stub of libc10.so. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void (*volatile give)(void *) = free;

int main(int argc, char **argv)
{
	void *stub = dlopen(argv[argc - 1], RTLD_LAZY);
	void *(*tensor)(size_t) = stub ? dlsym(stub, "tensor") : 0;
	void (*drop)(void *) = stub ? dlsym(stub, "drop") : 0;
	int (*open)(uint64_t) = dlsym(RTLD_DEFAULT, "gpumem_tensors_open");
	uint64_t (*calls)(void) = dlsym(RTLD_DEFAULT, "gpumem_tensors_calls");
	size_t (*close)(unsigned, char *, size_t) = dlsym(RTLD_DEFAULT, "gpumem_tensors_close");
	char text[4096];
	if (!tensor || !drop || !open || !calls || !close)
		return 1;
	if ((void *)free == dlsym(dlopen("libc.so.6", RTLD_LAZY), "free"))
		puts("one place");
	for (size_t n = 64; n < 1 << 20; n += 64) /* some are freed by a call, which is bound then */
		drop(tensor(n));
	if (!open(1 << 17))
		return 2;
	for (int i = 0; i < 10; i++)
		drop(tensor(1 << 20));
	give(malloc(1));
	if (calls() != 10)
		return 3;
	close(60000, text, sizeof text);
	drop(tensor(1 << 20));
	return calls() == 10 ? 0 : 4;
}
