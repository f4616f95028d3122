package soft

// fallbackMemory stands for the machine's memory where it cannot be read: what
// a small machine has, so that the budget is real.
const fallbackMemory = 8 << 30
