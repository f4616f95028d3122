package ttmetal

// gone is not known here.
func gone(int) bool { return false }
