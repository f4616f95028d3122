/* Binds to the oldest symbol versions of glibc, so that the library loads on
 * every distribution that a CUDA driver supports. Included before each file.
 * The loader's functions are weak and libdl is not asked for: before glibc 2.34
 * a program that has no libdl cannot load a driver, and musl has no dlvsym. */
#define _GNU_SOURCE
#include <dlfcn.h>
#if defined(__x86_64__)
#define GLIBC_BASE "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define GLIBC_BASE "GLIBC_2.17"
#else
#error "gpumem captures on x86-64 and arm64 only"
#endif
#pragma weak dlopen
#pragma weak dlvsym
#pragma weak dladdr
__asm__(".symver dlopen,dlopen@" GLIBC_BASE);
__asm__(".symver dlvsym,dlvsym@" GLIBC_BASE);
__asm__(".symver dladdr,dladdr@" GLIBC_BASE);
__asm__(".symver clock_gettime,clock_gettime@GLIBC_2.17");
