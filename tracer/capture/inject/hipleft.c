/* hipGetLastError has the code of the last call of HIP's on its thread, as its documentation
 * says, also of one that went well. A program asks for it after the call that failed: nothing
 * may be asked by its thread in between. Which device is chosen is a thread's own, too. So
 * one asks that lives as long as the question.
 */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "hipleft.h"

#pragma weak pthread_create
#pragma weak pthread_join
#pragma weak pthread_sigmask
__asm__(".symver pthread_create,pthread_create@" GLIBC_BASE);
__asm__(".symver pthread_join,pthread_join@" GLIBC_BASE);
__asm__(".symver pthread_sigmask,pthread_sigmask@" GLIBC_BASE);

struct question {
	hip_call choose, info;
	int device;
	uint64_t left;
};

static void *ask(void *arg)
{
	struct question *q = arg;
	uint64_t left = 0, total = 0;
	if (q->choose((uint64_t)q->device, 0, 0, 0, 0, 0) == 0 &&
	    q->info((uint64_t)&left, (uint64_t)&total, 0, 0, 0, 0) == 0)
		q->left = left + 1;
	return 0;
}

uint64_t hip_left(hip_call choose, hip_call info, int device)
{
	struct question q = {choose, info, device, 0};
	sigset_t all, before;
	pthread_t thread;
	int begun;
	if (!pthread_create || !pthread_join || !pthread_sigmask || !choose || !info || device < 0)
		return 0;
	sigfillset(&all); /* the program's signals are for its own threads */
	if (pthread_sigmask(SIG_SETMASK, &all, &before))
		return 0;
	begun = pthread_create(&thread, 0, ask, &q) == 0;
	pthread_sigmask(SIG_SETMASK, &before, 0);
	if (begun)
		pthread_join(thread, 0);
	return q.left;
}
