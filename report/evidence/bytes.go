package evidence

const (
	kib = 1 << 10
	mib = 1 << 20
)
