package python

// modes says that the permission bits of a folder mean what they say. On
// Windows they are made up from the read-only flag.
const modes = false
