"""Which of a program's processes this one is."""

import os
import sys

# In which launchers number the processes of a job: torchrun, Open MPI, MPICH and
# Intel MPI, MVAPICH, Slurm; and last the number within one machine.
RANKS = (
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "PMIX_RANK",
    "MV2_COMM_WORLD_RANK",
    "SLURM_PROCID",
    "LOCAL_RANK",
)


def present():
    """Keys of hello: rank and name, as far as they are known by now."""
    found = {}
    rank = _rank()
    if rank is not None:
        found["rank"] = rank
    processes = sys.modules.get("multiprocessing.process")
    current = getattr(processes, "current_process", None)
    if current is not None and current().name != "MainProcess":
        found["name"] = str(current().name)
    return found


def _rank():
    """The program may give itself a rank only when it is under way."""
    distributed = sys.modules.get("torch.distributed")
    initialized = getattr(distributed, "is_initialized", None)
    if initialized is not None and initialized():
        return distributed.get_rank()
    for name in RANKS:
        number = os.environ.get(name, "")
        if number.isdecimal() and number.isascii():
            return int(number)
    return None
