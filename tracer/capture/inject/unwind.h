/* Walks a stack by the tables that exceptions of C++ use (.eh_frame), for code
 * that keeps no frame pointers. See unwind.c. */
#ifndef GPUMEM_UNWIND_H
#define GPUMEM_UNWIND_H

#include <stdint.h>

#define MOST_FRAMES 9

/* unwind_by says which function finds tables without a lock: _dl_find_object of
 * glibc 2.35 and later, or null. It is called before unwind. */
void unwind_by(void *find);

/* unwind writes up to want return addresses to out, the first being pc, and
 * returns their number; 0 where the tables do not tell. sp and fp are the stack
 * pointer and the frame pointer in the function that pc lies in; nothing at or
 * above high is read. It takes no lock, allocates nothing and leaves errno. */
uint32_t unwind(uintptr_t pc, uintptr_t sp, uintptr_t fp, uintptr_t high, uint64_t *out, uint32_t want);

#endif
