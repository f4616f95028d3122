package python

// ours takes a folder of the user's profile as it is: Windows gives it to the
// user alone.
func ours(string) error { return nil }
