/* Binds to the oldest symbol versions of glibc, so that the library loads on
 * every distribution that a CUDA driver supports. Included before gpumem.c. */
#if defined(__x86_64__)
#define GLIBC_BASE "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define GLIBC_BASE "GLIBC_2.17"
#else
#error "gpumem captures on x86-64 and arm64 only"
#endif
__asm__(".symver dlopen,dlopen@" GLIBC_BASE);
__asm__(".symver dlvsym,dlvsym@" GLIBC_BASE);
__asm__(".symver dladdr,dladdr@" GLIBC_BASE);
__asm__(".symver clock_gettime,clock_gettime@GLIBC_2.17");
