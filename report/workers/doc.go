// Package workers finds the processes that a program starts one after the other and
// never ends. Such a program grows although each of its processes is flat.
//
// What tells them from a pool of workers, which are started at once, is that they come
// late, again and again; from workers that are replaced, that they are all still there
// at the end. The finding says how many, what they hold, their command, and the line
// that started them where a parent told it.
//
// Everything here is a function of its arguments: no clock, no environment.
package workers
