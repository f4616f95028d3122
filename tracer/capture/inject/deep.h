/* Libraries that are opened with RTLD_DEEPBIND. See deep.c. */
#ifndef GPUMEM_DEEP_H
#define GPUMEM_DEEP_H

/* What is put in the place of what such a library is bound to. */
struct deep_ours {
	void *(*open)(void); /* finds the real dlopen */
	/* prepare is called before wrapper, which is called while the loader stands still and
	 * asks nothing of it. */
	void (*prepare)(void);
	/* wrapper is what takes the place of a function that a library asks for by this name
	 * and is bound to; null where that is to stay. Of one that is not bound yet, which the
	 * loader does at its first call, bound is null. */
	void *(*wrapper)(const char *name, void *bound);
};

extern const struct deep_ours deep_ours __attribute__((visibility("hidden"))); /* in gpumem.c */

/* deep_rebind binds what libraries that were opened so ask of us to us, where libraries
 * came since it was called last. */
void deep_rebind(void);

/* deep_passes reports whether something that a library asks of us is bound past us. */
int deep_passes(void);

#endif
