"""How many mappings of memory this process has, and may have: a limit that is no bytes."""

MAPS = "/proc/self/maps"
LIMIT = "/proc/sys/vm/max_map_count"
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
