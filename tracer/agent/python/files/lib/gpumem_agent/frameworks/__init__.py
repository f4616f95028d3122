"""What the agent asks of a framework. One file each; none imports the
framework: it gets the module that the program imported."""


def make(name, module, process):
    """The Framework of the file of that name here."""
    made = __import__("gpumem_agent.frameworks." + name, fromlist=("open_framework",))
    return made.open_framework(module, process)


class Key(tuple):
    """The key of an array whose memory is another framework's: the name of that, and its key."""


class Framework:
    """The promises. sample, purge and the rest are only called while active()
    is true, except prepare, arm, disarm, forked and arrays."""

    name = ""
    describes_host = False  # with on_host, describe tells arrays that are not on the device
    keeps_graphs = False  # whether it has outputs with operations behind them
    knows_sites = False  # whether it records allocation sites without being told to

    def prepare(self):
        """Gets ready for questions, without a hook, right after the framework's
        import."""

    def arm(self):
        """Puts hooks in place, right after the framework's import."""

    def came_late(self):
        """The program had imported the framework, and maybe used it, before arm."""

    def disarm(self):
        """Takes out what arm put in. Returns in words what stays."""
        return []

    def forked(self):
        """This process is now a child of the one that armed it."""

    def active(self):
        """Whether the program has brought a device to life. Never does so
        itself, and is cheap enough for every sample."""
        return False

    def facts(self):
        """Keys of hello: device, capacity_bytes, unified_memory, versions."""
        return {}

    def sample(self, row):
        """Adds the present figures to row (see add)."""

    def live_bytes(self):
        """Bytes handed out and still referenced, or None when unknown."""
        return None

    def limits(self):
        """Keys of a died mark, for a framework whose errors do not say what it may have:
        limit_bytes and live_bytes of the device that holds most."""
        return {}

    def purge(self):
        """Gives idle memory back. Returns the bytes claimed, or None."""
        return None

    def sync(self):
        """Waits for the devices."""

    def sites(self):
        """Live bytes by allocation site: {site: [bytes, count]}, or None when
        the framework did not record."""
        return None

    def blocks(self, most):
        """(identity, bytes) of each block of its allocator that is handed out, and its
        pools as an event has them; or None when it cannot tell, or has more blocks than
        so many."""
        return None

    def has_history(self):
        """Whether its allocator records events now, None when it does not tell."""
        return None

    composes = False  # it can tell a composition

    def composition(self):
        """What live memory is made of: the detail of a mark of that kind, or None
        when the framework cannot tell."""
        return None

    def recorder(self, optimizers=()):
        """What records a window of steps (see torch_window), or None. The optimizers
        are those that were seen to step."""
        return None

    def kinds(self):
        """Types of its arrays, for a scan of the interpreter's objects; what
        is found has a weak reference."""
        return ()

    def untracked_kinds(self):
        """The same of types that the interpreter's collector does not track."""
        return ()

    def types(self):
        """All these, for a search below the program's names."""
        return tuple(self.kinds()) + tuple(self.untracked_kinds())

    def nested(self):
        """Types of objects that are parts of each other, many levels deep: modules."""
        return ()

    def hidden(self):
        """(types, getter) of objects that the interpreter's collector sees no references
        of while native code holds them, too, and what gets one that they have then. The
        getter, which runs none of the program's code, is for these types alone."""
        return (), None

    def listed(self):
        """{identity: weak reference} of live arrays that the framework lists
        itself."""
        return {}

    def alive(self, reference):
        """What a weak reference to an array refers to, or None."""
        return reference()

    def describe(self, array):
        """(key of the storage, bytes, group) of an array that counts, else
        None. The group is a word or two: shape, type, device."""
        return None

    def kept_natively(self, arrays):
        """{identity of an array: in words, what keeps it} for arrays that the
        framework itself keeps where the collector sees nothing."""
        return {}

    def graph(self, array):
        """The autograd graph behind an array (see torch_graphs.Graph), or None.
        Only for arrays that no other thread works on."""
        return None

    def operations(self, array, most, deadline):
        """(operations behind an array up to so many, whether these are all, the name of the
        last one), or None. Only for arrays that no other thread works on."""
        return None

    def has_graph(self, array):
        """Whether autograd made an array, and no more: on any thread."""
        return False

    def is_output(self, array):
        """Whether autograd made an array, of a program that has come to its end."""
        return False

    def graphs(self, outputs, visible, deadline):
        """What only autograd keeps, by output: [(output, bytes, word)]."""
        return []


def add(row, device, **figures):
    """Adds figures of one device to its own columns and to the plain ones."""
    own = tuple("%s@%d" % (name, device) for name in figures)
    add_columns(row, tuple(figures), own, tuple(figures.values()))


def add_columns(row, plain, own, values):
    """The same by columns whose names were made before: tuples all three."""
    if not row and None not in values:  # mostly there is one device
        row.update(zip(plain + own, values + values))
        return
    for name, own_name, value in zip(plain, own, values):
        if value is not None:
            row[name] = row.get(name, 0) + value
            row[own_name] = row.get(own_name, 0) + value


def total(values):
    """The sum of what is known; None when nothing is."""
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def sites_of(frameworks):
    """{site: [bytes, count]} of all frameworks that record, or None."""
    every = [s for s in (f.sites() for f in frameworks) if s is not None]
    if not every:
        return None
    merged = {}
    for found in every:
        for site, (size, count) in found.items():
            entry = merged.setdefault(site, [0, 0])
            entry[0] += size
            entry[1] += count
    return merged
