// Package e2e is the tests that run gpumem as its users do: the program is built once,
// and each test looks at what it prints, writes and ends with.
package e2e
