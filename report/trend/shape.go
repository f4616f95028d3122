package trend

// Shape is how one account moves over the judged window.
type Shape string

// The shapes.
const (
	Flat           Shape = "flat"
	Plateau        Shape = "plateau" // warm-up, then flat
	Bounded        Shape = "bounded" // sawtooth
	Step           Shape = "step"
	Growing        Shape = "growing"
	ShapeUndecided Shape = "undecided"
)
