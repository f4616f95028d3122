/* A chain of functions of which the compiler inlines the inner two. */
#include <stdio.h>

int taken;

__attribute__((noinline)) int driver(int n)
{
	__asm__ volatile("");
	return n + taken;
}

static inline __attribute__((always_inline)) int wrapper(int n)
{
	int got = driver(n); /* line 14 */
	__asm__ volatile("");
	return got;
}

static inline __attribute__((always_inline)) int middle(int n)
{
	int got = wrapper(n + 1); /* line 21 */
	return got * 2;
}

__attribute__((noinline)) int outer(int n)
{
	int got = middle(n); /* line 27 */
	__asm__ volatile("");
	return got + 1;
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", outer(argc));
	return 0;
}
