// Package plain is what commands print: for people sizes and ages in words,
// tables with aligned columns, sentences wrapped to lines, and names of others
// made fit for a terminal; for programs JSON. Widths are columns of a terminal,
// in which a wide character takes two. What is not known is [Dash] for people
// and left out of JSON, never zero.
package plain
