"""When to look what keeps growing autograd graphs: some steps after each look at what the
program's names reach, on the program's own thread, and where these have no name below what
has none.
"""


class GraphLooks:
    """The looks at the graphs of one process. Nothing is imported until the first."""

    def __init__(self):
        self._graphs = None  # graphs.Graphs, from the survey on
        self._behind = None  # behind.Behind, from the first look at graphs below any name on
        self._notes = False  # at the next step
        self._is_below_next = False  # likewise, to look at graphs below any name

    def begin(self):
        """The survey was taken: what is told is compared with it from the next step on."""
        self._graphs, self._notes = None, True

    def forget_below(self):
        """A framework came in: what was noted below any name is of no use."""
        self._behind = None

    def note_next(self):
        """Notes the graphs at the next step."""
        self._notes = True

    def below_next(self):
        """Looks at graphs below any name at the next step."""
        self._is_below_next = True

    def wants(self, steps):
        """Whether look_at_step has something to do, from the survey on."""
        return self._notes or self._is_below_next or self._graphs.again <= steps

    @property
    def told(self):
        """What keeps growing graphs, as dictionaries of a holder."""
        graphs = self._graphs.told if self._graphs else []
        if self._behind is None:
            return graphs
        known = {entry["path"] for entry in graphs}
        behind = [e for e in self._behind.told if e["path"] not in known]
        # A variable of a function is then made from what an attribute carries on.
        return behind if behind and not self._behind.is_local else graphs + behind

    def look_below(self, process, explained):
        """Looks at graphs below any name, at the end of a step or as an errand. Explained are bytes
        that holders have which are told: of arrays, and beside a device on the host."""
        from gpumem_agent.holders.behind import Behind

        if self._behind is None:
            self._behind = Behind()
        self._is_below_next = False
        self._behind.look(process.frameworks, explained, process.held()[1])

    def look_at_step(self, process, step, explained):
        """Does what is to be done at the end of a step. Returns whether it looked."""
        is_below = self._is_below_next
        if is_below:
            self.look_below(process, explained)
        if self._graphs is None:
            from gpumem_agent.holders.graphs import Graphs

            self._graphs = Graphs()
        # On the processor graphs grow as well, on the heap.
        frameworks = [f for f in process.frameworks if f.active()] or process.frameworks
        noted, self._notes = self._notes, False
        looks = not noted and self._graphs.again <= step
        if noted:
            self._graphs.note(frameworks, step, process.held()[1])
        elif looks:
            self._graphs.look(frameworks, explained, process.held()[1])
        return looks or is_below
