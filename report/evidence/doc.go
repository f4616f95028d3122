// Package evidence is what each kind of evidence finds in a process: the trends of its
// accounts, a start, a pool that fills again and again, what looks found, what was left over
// between marks, memory that was reserved before, and the mere size of a growth in a run that
// is too short for all else.
//
// Find promises one finding of each kind, or nil where that kind says nothing. Each is a pure
// function of the process and its growths: none knows of another, and none changes what it
// reads. What a finding is worth beside the others, the verdict decides, the only one to name
// a class; a finding names an owner. Whose host memory is (the driver's or the host's own) is
// told here too, as every kind needs it (IsPinned, Toucher, HeapKeeps).
//
// The words that say why a growth stays open (FillsMore, MayFillUp) are empty where it does
// not. Sizes are bytes, or things where the series counts things.
package evidence
