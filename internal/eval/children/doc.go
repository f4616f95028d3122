// Package children holds the test that a program cannot tell whether it runs
// under gpumem. Its tables name kinds of children: shells, static programs,
// daemons, sandboxes, interpreters, tools. Each kind runs twice, bare and
// under `gpumem run` with default flags, and everything that it printed, left
// behind and ended with is compared.
//
// Both records are first made comparable by rules, which a row names one by
// one: a rule replaces what differs between any two runs, such as process
// identifiers. What then still differs must be declared in the row, with the
// reason. The test fails for a difference that nobody declared, and for a
// declared one that no longer shows, so that the list of differences stays
// true.
//
// The programs of the table that no system brings are in testdata, in C and
// Python. They are compiled once for all kinds, as is gpumem. The package has
// no code outside its tests and imports nothing of the project: it knows
// gpumem as its users do, as a command.
package children
