// Package sample is the only sampler: it turns what the operating system and the
// drivers say of a process into the cells of a row. A run, an attachment, the
// live screen, a diagnosis and the metrics all take their rows from here, so
// that the same process gives the same row to each of them.
//
// # What a row has
//
// The memory of the process as package probe reads it, then its GPU bytes as a
// probe.Reader told them last. What is not known has no cell. The order of the
// cells is fixed.
//
// The resident size and the footprint are in every row. Shared memory, pages of
// files and swap cost the kernel six times what the rest does: Options.SplitEvery says
// how often they are asked for. In the rows between, the footprint is made of the
// anonymous memory of now and the shared memory and swap of then. Where a system
// tells neither and the machine has no swap, the resident size is the footprint. A
// footprint that the system tells is never replaced.
//
// What a process changed of files that it maps is part of the footprint on Linux; the
// other pages of files are the system's cache. Telling them apart takes a walk over the
// process's pages, so it is done for processes that map a file in order to change it, at
// most once a second and for at most half a percent of the time; in between it is as it
// was read last.
//
// With one device, a process has the column gpu_bytes alone. Once any process
// uses a device other than device 0, it has a column for each of its devices as
// well, gpu_bytes@N, for the first 1,024. Where a part of a process's bytes is not
// told, none of them are: a part is no total.
//
// # Old figures
//
// Drivers are asked beside the rows, because one that hangs must not hold them
// up, or before them, as the owner of the Sampler likes. What a driver told counts
// for four intervals and at least for .5 s; then the GPU bytes are unknown. A driver
// that fails is not asked again for a second.
//
// A row whose time lies further back than the usual delay and an interval is late
// (Sampler.Late): what is read now is not of that time. Pace counts the ticks that
// a timer owed and did not give.
//
// # Costs
//
// A row of one process allocates nothing, as long as the caller's slice has room
// for its cells, and costs 2 to 5 µs without the split.
package sample
