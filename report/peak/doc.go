// Package peak says what a program's memory was made of when it ran out, and at the
// peak of a profiled window: why it ran out, with the numbers that prove it, and
// which change would have made it fit, with the bytes that it saves.
//
// It reads what the program's allocator told (record.OOM, record.Window) and is
// pure: the same run gives the same answer. It computes; it advises nothing that
// the recording does not prove. What an estimate rests on stands in its words
// ("simulated", "at most"). A run that did not run out gets no word about it.
//
// Bytes are int64 and exact; a nil pointer is unknown, never 0. Nothing here knows
// verdicts: who judged growth hands it in (Growth).
package peak
