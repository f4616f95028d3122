// Package finding is what one kind of evidence says of a process: which series grows, whose
// that is, by how much, and how far it is believed.
//
// A Finding names an owner, not a class, and knows of no other finding: what it is worth
// beside the others, the verdict decides. Its score is as strong as the evidence alone makes
// it; Trust is the part of the verdicts on the corpus's tuning traces with about that score
// that were right, and never more than Certain. The maps for it (OfTrend, OfNone) are written
// by internal/eval/scoreboard -calibrate, for programs of which one in ten grows.
//
// Sizes are bytes, or things where the series counts things. It is plain data: nothing here
// reads a sample.
package finding
