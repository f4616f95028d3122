// Package firsttouch says whose code first touches the pages by which a
// process grows.
//
// The kernel reports page faults of the target (a perf software event with the
// user's call stack, one event a thread), thinned so that the target pays a
// small, bounded share of its time. Each fault is charged to the library that
// wanted the page: malloc and memset touch pages on behalf of others, so the
// stack is followed out of the C and C++ run-time libraries and allocators
// (owner.go holds the list) to the first frame of somebody else.
//
// What it cannot do stands in the report. Stacks of code without frame
// pointers break off; the word that the stack pointer points to (on arm64 the
// link register) still names the direct caller of memset and its like, and
// beyond that the nearest return address found on the stack is a guess, counted
// as such. A fault of a huge page maps 2 MiB but counts once. Memory that a
// driver maps itself (pinned host memory) never faults and is invisible here.
// Pages freed and touched again fault again: compare [Report.Churn], which sets
// the faults against what the process really grew by.
package firsttouch
