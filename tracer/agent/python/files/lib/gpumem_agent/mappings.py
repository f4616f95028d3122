"""What the system tells of this process beside its private memory: mappings, addresses, and shared
memory."""

MAPS = "/proc/self/maps"
LIMIT = "/proc/sys/vm/max_map_count"
STATUS = "/proc/self/status"
CHUNK = 1 << 16
ENOMEM = 12  # on Linux and macOS; the module errno may not be loaded


def told():
    """Both numbers by name; nothing where the system does not tell."""
    try:
        count, chunk = 0, b" "
        with open(MAPS, "rb", buffering=0) as file:
            while chunk:
                chunk = file.read(CHUNK)
                count += chunk.count(b"\n")
        with open(LIMIT, "rb", buffering=0) as file:
            return {"mappings": count, "mappings_limit": int(file.read(32))}
    except Exception:  # where memory is scarce anything may fail
        return {}


def shared():
    """Bytes of shared memory that this process has, of which memory that is pinned for a device
    is a part; None where the system does not tell."""
    try:
        with open(STATUS, "rb", buffering=0) as file:
            lines = dict(line.partition(b":")[::2] for line in file.read().splitlines())
        return int(lines[b"RssShmem"].split()[0]) << 10
    except Exception:
        return None


def addresses():
    """The limit of address space and the most that was had of it, by name; nothing where
    there is none, or the system does not tell."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return {}
        with open(STATUS, "rb", buffering=0) as file:
            lines = dict(line.partition(b":")[::2] for line in file.read().splitlines())
        return {"addresses": int(lines[b"VmPeak"].split()[0]) << 10, "addresses_limit": limit}
    except Exception:
        return {}
