/* Three libraries in the manner of cuDNN: a stub in front hands each call on
 * to the next library of that name by RTLD_NEXT, and looks others up in the
 * global scope. -DFRONT: the stub; -DBACK: the real one; else the program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#ifdef FRONT
static int depth;
int cudnnCreate(int n)
{
	int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "cudnnCreate");
	if (++depth > 8 || !next)
		return -99;
	return next(n);
}
#elif defined(BACK)
int cudnnCreate(int n) { return n + 1; }
int cublasCreate_v2(int n) { return n + 2; }
#else
int cudnnCreate(int);
int main(void)
{
	int (*blas)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "cublasCreate_v2");
	/* Not loaded, so not there, whatever we export: */
	if (dlsym(RTLD_DEFAULT, "cuInit") || !dlerror())
		return 1;
	if (dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") || dlsym(RTLD_DEFAULT, "no_such_function"))
		return 2;
	if (!blas || blas(40) != 42)
		return 3;
	return cudnnCreate(41) == 42 ? 0 : 4;
}
#endif
