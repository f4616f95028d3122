/* The line of Python that a driver's call comes from. See python.c. */
#ifndef GPUMEM_PYTHON_H
#define GPUMEM_PYTHON_H

#include <stddef.h>
#include <stdint.h>

/* Where this interpreter keeps what is read. The agent finds it out by objects it
 * knows (python_lines.py), because each version of CPython has it elsewhere. Offsets
 * are in bytes. */
struct python_layout {
	void *(*state)(void);           /* PyGILState_GetThisThreadState */
	int (*line)(void *code, int i); /* PyCode_Addr2Line */
	uint64_t code_type;             /* the type of code objects */
	uint32_t frame;                 /* in a thread's state: its innermost frame, */
	int32_t hop;                    /* or what has that here; -1: the state has it */
	uint32_t code, previous, instruction; /* in a frame */
	uint32_t unit;                  /* of a number of an instruction; 0: it is an address */
	uint32_t first;                 /* in a code object: the first instruction */
	uint32_t file, name;            /* in a code object */
	uint32_t length, text;          /* in a string of ASCII */
	uint32_t padding;
};

/* The mark of a frame that is the number of a line of Python, its lower half, and that of the line
 * which called that one's function, in the 16 bits above. No address has the mark. */
#define PYTHON_MARK (0x5059ull << 48)

/* python_place is the number, from 1, of the line of Python that this thread is at, 0
 * where there is none; called is that of the line in the program that called its function, 0
 * alike. What is new is told to say, which returns 0 to have it forgotten. pid is this
 * process's. */
uint32_t python_place(uint32_t pid, int (*say)(uint32_t number, const char *text, size_t length), uint32_t *called);

#define PYTHON_PLACES 2048 /* lines that are known at once; a power of two */

/* python_line is the number of that line, or of the one in the program that called its function, for
 * somebody who keeps its text: where known has none for the number, the text is written and its length
 * told. */
uint32_t python_line(uint32_t pid, int of_caller, const uint32_t *known, char *out, size_t room, size_t *length);

/* python_told is the process that adopted a layout last, this one or a parent; 0: none. */
uint32_t python_told(void);

#endif
