package plain

// Fill is how full a memory is. The monitor of tt-metal has the same bounds.
type Fill int

const (
	fillNormal Fill = iota
	fillHigh        // 75 % or more
	fillFull        // 90 % or more
)

// FillOf is how full a memory of a capacity is.
func FillOf(used, capacity uint64) Fill {
	switch part := float64(used) / float64(capacity); {
	case part >= 0.90:
		return fillFull
	case part >= 0.75:
		return fillHigh
	}
	return fillNormal
}

// String is normal, high or full.
func (l Fill) String() string { return [...]string{"normal", "high", "full"}[l] }

// Color is the ANSI color of a level: green, yellow, red.
func (l Fill) Color() string { return [...]string{"\x1b[32m", "\x1b[33m", "\x1b[31m"}[l] }
