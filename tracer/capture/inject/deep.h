/* Libraries that are opened with RTLD_DEEPBIND, and what libraries are bound to. See deep.c. */
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

#define DEEP_WORDS 8

/* The words by which the libraries whose names begin with library call a function that others
 * define, whatever it is bound to: where they are, and what was in them. Those for calls alone may lead
 * elsewhere than the others, whose value is also compared and passed on: a program that is linked to a
 * fixed address has such a function's place in itself. */
struct deep_words {
	const char *library, *function;
	enum { DEEP_ALL, DEEP_CALLS, DEEP_POINTERS } of;
	int count;
	struct deep_word {
		void **at, *was, *bound; /* bound: null where the loader binds it at the first call */
		int is_fixed;            /* the loader has made it read-only */
	} words[DEEP_WORDS];
};

/* deep_find fills in the words, and returns what they lead to: where none is bound yet, what unbound finds
 * by the name. It returns null where there are none, where they lead to several functions, and
 * where one leads to ours. */
void *deep_find(struct deep_words *w, void *ours, void *(*unbound)(const char *)) __attribute__((visibility("hidden")));

/* deep_point makes them lead to ours; deep_restore gives those that do what was in them. */
void deep_point(const struct deep_words *w, void *ours) __attribute__((visibility("hidden")));
void deep_restore(const struct deep_words *w, void *ours) __attribute__((visibility("hidden")));

#endif
