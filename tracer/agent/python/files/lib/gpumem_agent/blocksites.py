"""Which lines of the program ask for what stays of a device's memory.

A pool takes a segment from the driver for all that comes to lie in it, so that the driver's calls do
not tell whose line a tensor is of. For a few seconds, while the live bytes rise, the interposer samples
the blocks that PyTorch's allocators hand out and get back (tracer/capture/inject/blocks.c). JAX tells
its lines by itself.
"""

from gpumem_agent.sitewindows import Doors, SiteWindows, doors_of


class BlockSites(SiteWindows):
    """The windows of one process."""

    kind = "block_sites"
    call = 500e-9

    def held(self, process):
        return process.held()[0]

    def is_wanted(self, process):
        return any(f.name == "torch" for f in process.frameworks)

    def open_doors(self, process):
        # The program's threads ask for blocks with and without the interpreter's lock.
        return doors_of(process, "gpumem_blocks_open", lambda native: Doors(native, "gpumem_blocks"))
