// Package mapping says what a process's memory is made of: how much of it is
// heap, anonymous, stacks, which library, which device, shared memory, files.
//
// It is for questions asked now and then, never for a sampling loop: the
// kernel walks the target's page tables to answer (20 to 45 ns for each
// resident 4 KiB page, measured) and holds the target's memory map meanwhile,
// so the target's own page faults may wait. Every call therefore has a time
// budget; what was read when it ran out is returned and marked partial. The
// budget is checked between the kernel's answers: a single mapping of many GiB
// is walked in one go and can exceed it.
//
// Sizes of mappings mean nothing for GPU programs (the driver reserves address
// space far beyond any memory); resident and proportional bytes do. Pages that
// a driver maps without page structures (VM_PFNMAP) are resident in no figure.
package mapping
