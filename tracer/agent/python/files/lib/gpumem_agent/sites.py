"""Live bytes by allocation site, from the frameworks' own records."""

import gzip

NO_FRAME = "no Python frame (native code or the backward pass)"

# Folders whose frames are the framework's, not the program's; report/peak has the same.
FRAMEWORK_FOLDERS = ("/torch/", "/jax/", "/jaxlib/", "/cupy/", "/mlx/", "/numpy/", "/scipy/", "/pandas/")
FRAMEWORK_FOLDERS += ("/torchinductor_",)  # code that PyTorch's compiler writes
PACKAGES = "-packages/"  # of site-packages and Debian's dist-packages
STANDARD = "/lib/python"  # with PACKAGES below it


def from_torch(snapshot):
    """{site: [bytes, count]} of the live blocks of a PyTorch snapshot."""
    sites = {}
    for segment in snapshot.get("segments", ()):
        for block in segment.get("blocks", ()):
            if block.get("state") != "active_allocated":
                continue
            frames = block.get("frames") or ()
            named = [(f["filename"], f["line"], f["name"]) for f in frames]
            _count(sites, choose(named), block["size"], 1)
    return sites


def from_pprof(profile):
    """The same of a pprof profile, JAX's form: samples of buffers."""
    if profile[:2] == b"\x1f\x8b":
        profile = gzip.decompress(profile)
    return _Profile(profile).sites()


def choose(frames):
    """The site among (file, line, function) from the inside out: the first
    frame of the program's own, else the first that was not installed (a program's own
    folder may be called torch), else the innermost."""
    for is_foreign in (is_framework, _is_installed):
        for filename, line, function in frames:
            if not is_foreign(filename):
                return "%s:%d %s" % (filename, line, function)
    if frames:
        return "%s:%d %s" % tuple(frames[0])
    return NO_FRAME


def is_framework(filename):
    """Whether a file is a framework's, or of the standard library."""
    return any(folder in filename for folder in FRAMEWORK_FOLDERS) or _is_standard(filename)


def _is_installed(filename):
    return PACKAGES in filename or _is_standard(filename)


def _is_standard(filename):
    if filename.startswith("<frozen"):
        return True
    return STANDARD in filename and PACKAGES not in filename


def compare(now, before):
    """record.Site objects, largest growth first. Without a first look the
    growth is unknown and left out."""
    found = []
    for site, (size, count) in now.items():
        entry = {"site": site, "bytes": size, "count": count}
        if before is not None:
            entry["growth_bytes"] = size - before.get(site, (0, 0))[0]
        found.append(entry)
    found.sort(key=lambda e: (-e.get("growth_bytes", 0), -e["bytes"], e["site"]))
    return found


def _count(sites, site, size, count):
    entry = sites.setdefault(site, [0, 0])
    entry[0] += size
    entry[1] += count


class _Profile:
    """As much of pprof's protobuf as sites need: profile.proto's fields
    sample_type 1, sample 2, location 4, function 5, string_table 6."""

    def __init__(self, data):
        self._strings, self._samples, types = [], [], []
        self._locations, self._functions = {}, {}
        for field, value in _fields(data):
            if field == 1:
                types.append(_record(value))
            elif field == 2:
                self._samples.append(_record(value))
            elif field == 4:
                location = _record(value)
                self._locations[location[1][0]] = location
            elif field == 5:
                function = _record(value)
                self._functions[function[1][0]] = function
            elif field == 6:
                self._strings.append(value.decode("utf-8", "replace"))
        names = [self._string(t, 1) for t in types]
        self._bytes = names.index("space")
        self._count = names.index("allocations")

    def _string(self, record, field):
        return self._strings[record.get(field, [0])[0]]

    def sites(self):
        sites = {}
        for sample in self._samples:
            if self._labels(sample).get("kind") != "buffer":
                continue
            values = _numbers(sample.get(2, ()))
            ids = _numbers(sample.get(1, ()))
            frames = [f for i in ids for f in self._frames(i)]
            _count(sites, choose(frames), values[self._bytes], values[self._count])
        return sites

    def _labels(self, sample):
        labels = map(_record, sample.get(3, ()))
        return {self._string(label, 1): self._string(label, 2) for label in labels}

    def _frames(self, location):
        for line in map(_record, self._locations.get(location, {}).get(4, ())):
            function = self._functions.get(line.get(1, [0])[0], {})
            number = line.get(2, [0])[0]
            yield self._string(function, 4), number, self._string(function, 2)


def _record(data):
    record = {}
    for field, value in _fields(data):
        record.setdefault(field, []).append(value)
    return record


def _numbers(values):
    """A repeated integer field, packed or not."""
    numbers = []
    for value in values:
        if isinstance(value, int):
            numbers.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            numbers.append(number)
    return numbers


def _fields(data):
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        field, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 2:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
        else:  # fixed 64 or 32: none that is needed here
            size = 8 if kind == 1 else 4
            value, at = data[at : at + size], at + size
        yield field, value


def _varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
