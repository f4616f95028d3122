"""What lives by the lines that asked for it, as looks found it while the program ran."""

from gpumem_agent.own import own


class SiteLooks:
    """The looks of one process at live bytes by site."""

    def __init__(self):
        self._found = None  # at the last look
        self._is_news = False  # it was not told yet
        self._first = None  # (when, what was found) of a program without steps
        self._live = 0  # bytes, at the last look of such a program

    def look(self, process):
        """Looks, on the program's own thread at the end of a step."""
        from gpumem_agent.frameworks import sites_of

        found = sites_of([f for f in process.frameworks if f.active()])
        if found is not None:
            self._found, self._is_news = found, True

    def look_beside(self, process):
        """The same for a program without steps, on any thread, when more lives than
        ever before: of frameworks that were told to record, or that do so anyway."""
        from gpumem_agent.frameworks import sites_of, total

        active = [f for f in process.frameworks if f.active()]
        telling = [f for f in active if process.sites_wanted or f.knows_sites]
        live = total(f.live_bytes() for f in telling)
        found = sites_of(telling) if live is not None and live > self._live else None
        if found is None:
            return
        self._found, self._live, self._is_news = found, live, True
        if self._first is None:
            self._first = own.monotonic(), found

    @property
    def first(self):
        """(When, live bytes by site) of the first look at a program without steps, or None."""
        return self._first

    def news(self, before):
        """What the last look found that is more than before, as record.Site objects, once."""
        if not self._is_news:
            return []
        from gpumem_agent import sites

        self._is_news = False
        return sites.compare(self._found, before)

    def at_most(self, now):
        """Live bytes by site now, or at the last look if more lived then: what a
        function held is gone when it has returned."""
        if self._found is None or now is None:
            return now
        return max(now, self._found, key=lambda s: sum(size for size, _ in s.values()))
