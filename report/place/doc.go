// Package place has the words for a place in a program: the line or the function that asked
// for memory, that made handles, or that fills what grows.
//
// It promises one form for all of them, "train.py:88 in forward", or where a file has no
// debugging information "in cache::remember (server+0x1678)", short enough for a sentence.
// Where no place has enough of what grew, the words are empty: a place is never guessed.
// Sizes and growths are bytes, those of handles a number. It is pure, and knows nothing of
// verdicts.
package place
