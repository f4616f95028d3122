/* A profiler that the driver takes in, and the library that lets one of them
 * subscribe, as CUPTI does: a second subscriber is refused. -DCUPTI: that library. */
#include <stdio.h>

#ifdef CUPTI
int cuptiSubscribe(void **subscriber, void *callback, void *data)
{
	static int taken;
	(void)callback, (void)data;
	*subscriber = &taken;
	return taken++ ? 39 : 0; /* CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
}
#else
int cuptiSubscribe(void **, void *, void *);

int InitializeInjection(void)
{
	void *subscriber;
	fprintf(stderr, "profiler subscribed: %d\n", cuptiSubscribe(&subscriber, 0, 0));
	return 1;
}
#endif
