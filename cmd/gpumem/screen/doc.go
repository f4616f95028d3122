// Package screen shows a recording while it is made: on the live screen, whose
// terminal comes back whatever becomes of gpumem, or as one line of progress.
package screen
