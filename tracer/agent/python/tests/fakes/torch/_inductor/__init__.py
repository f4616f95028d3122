"""Heavy in the real one, and imported on the first look for it."""
