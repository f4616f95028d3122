// Package books is what an allocation server has on its books, for people and for
// programs: live, in the logs that it saved, and as metrics of its programs.
package books
