/* Walks the stack of the thread that calls, as far as it may be read. */
#define _GNU_SOURCE
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "stack.h"

/* readable asks the kernel, which refuses the call for its first argument but
 * reads the second before; every sandbox allows this call. */
static int readable(uintptr_t at)
{
	return syscall(SYS_rt_sigprocmask, ~0L, (void *)at, (void *)0, 8L) == 0 || errno != EFAULT;
}

/* stack_bounds finds what may be read above sp: up to the thread's descriptor,
 * which glibc puts above the stack, or to the main stack's end, and never
 * beyond a page that the kernel cannot read (stacks of coroutines). */
void stack_bounds(uintptr_t sp)
{
	int saved = errno;
	uintptr_t top = (uintptr_t)__builtin_thread_pointer(), at = sp & ~(uintptr_t)4095;
	if (top <= sp)
		top = (uintptr_t)getauxval(AT_RANDOM); /* the kernel puts it above the main stack */
	if (top <= sp || top > at + (256u << 10))
		top = at + (256u << 10);
	thread.low = at;
	while (at < top && readable(at))
		at += 4096;
	thread.high = at < top ? at : top;
	errno = saved;
}

/* Go calls C on another stack than its own, and keeps frame pointers: the chain goes
 * on in Go's heap. Of a program in Go that is followed, by copies that the kernel makes:
 * it refuses what is no memory. */
int program_in_go;
u32 want_frames = FRAMES;

u32 walk_go(uintptr_t at, u64 *out, u32 n)
{
	while (program_in_go && n < want_frames && at && !(at & 7)) {
		uintptr_t frame[2] = {0, 0};
		struct iovec to = {frame, sizeof frame}, from = {(void *)at, sizeof frame};
		int saved = errno;
		long got = syscall(SYS_process_vm_readv, (long)getpid(), &to, 1L, &from, 1L, 0L);
		errno = saved;
		if (got != sizeof frame || !frame[1])
			break;
		out[n++] = frame[1];
		if (frame[0] <= at)
			break;
		at = frame[0];
	}
	return n;
}
