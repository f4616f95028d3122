package verdict

const mib = 1 << 20
