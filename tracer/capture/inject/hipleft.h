/* What a device of HIP has left when it refuses memory. See hipleft.c. */
#ifndef GPUMEM_HIPLEFT_H
#define GPUMEM_HIPLEFT_H

#include <stdint.h>

typedef int (*hip_call)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

/* hip_left asks info, which is hipMemGetInfo, what a device has left, and returns that and
 * 1; 0 is unknown. choose is hipSetDevice. */
uint64_t hip_left(hip_call choose, hip_call info, int device);

#endif
