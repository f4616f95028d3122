"""When to note what lives, and which note to compare with.

A program that tells steps is surveyed a few steps in: by then its model, its
optimizer's state and its caches are there. A baseline that the program marks
beats that. One that tells neither is compared with what its names reached at a
look in the first half of its life.
"""

from gpumem_agent import mappings
from gpumem_agent.allowance import Allowance
from gpumem_agent.gains import GROWTH, ON_HOST, Held, least, names_class, sizes
from gpumem_agent.graphlooks import GraphLooks
from gpumem_agent.own import own
from gpumem_agent.sitelooks import SiteLooks
from gpumem_agent.unseen import Unseen

STEPS = 5  # after which what the program keeps on purpose is there
FIRST_SECONDS = 2.0  # of a life, before the first look
RECOUNTS = 4  # in the time that it takes to become twice as old
EXPLAINED = 0.5  # of what came, by what the holders that are told have
SETTLED = 0.8  # of what came since a look, by what its holders have got meanwhile
COMPARED = 2  # looks that compared, before one may be left out
MUCH = 64 << 20  # bytes that came since a look and that nobody has, to look again at any cost
SECONDS = 1.0  # one look may take, at most
WIND_UP = 5.0  # seconds that a program's end may take from when it has left its functions
AGE = 0.25  # of a life: a younger note knows too much of what is kept


class Surveys:
    """The surveys of one process. Nothing is imported until the first."""

    def __init__(self):
        self._told = []  # holders found by the last look
        self._unbounded = set()  # their paths whose bound has turned out to be none
        self._recounted = {}  # {path: what of them has become longer since}
        self._lost = 0.0, []  # when a look found none of those any more, and these
        self._since = 0.0  # the moment that the last look compared with
        self._single = {}  # {path of one thing: (bytes, looks that found more; see swelling)}
        self.graphs = GraphLooks()
        self._is_new = True  # what the last look found
        self._register = None  # of step 5 or the baseline
        self._is_final = False
        self.sites = SiteLooks()
        self.allowance = Allowance()
        self._unseen = Unseen()
        self._held = Held()  # at the survey or the last look after it
        self._base = Held()  # at the survey, or as soon as it was known
        self._heap = None  # bytes of the heap at the survey, or the first look
        self.restart()

    def restart(self):
        """A framework came in, or its device to life: what was noted before is
        of no use."""
        if not self._is_final:
            self._register, self._told, self._single = None, [], {}
            self._recounted, self._heap, self._unseen = {}, None, Unseen()
        self.allowance, self._base = Allowance(), Held()
        self._unseen.note_pool(None)
        self.graphs.forget_below()
        self._begin()
        self._notes = []  # of the last two looks: (when, running.Noted)
        self._compared = 0  # looks that compared with what was noted

    def _begin(self):
        """From now on time counts."""
        self._begun = own.monotonic()
        self._next = self._sites_next = self._begun + FIRST_SECONDS
        self._unpaid = self._recount = self._next  # as _next, whatever looks have cost

    def reference(self):
        """The register.Register to compare with, or None."""
        if self._register is not None:
            return self._register
        aged = [n for when, n in self._notes if self._is_aged(when)]
        return next((n for n in reversed(aged) if n.complete), None)

    def wants(self, steps):
        """Whether due or look_at_graphs has something to do at a step."""
        if not self._is_final:
            return steps >= STEPS
        return self.graphs.wants(steps)

    def due(self, steps):
        """Whether to take the survey now."""
        return not self._is_final and steps >= STEPS

    def take(self, process, frameworks):
        """Takes it now, on a thread whose program stands still for it."""
        from gpumem_agent.holders.register import Register

        self._is_final = True
        self._register, self._told, self._recounted = Register.of(frameworks), [], {}
        if process.sites_wanted:
            self._register.note_sites(frameworks)
        self.graphs.begin()
        held = self._after(process.held(), process.heap_now())
        self._held, self._base = Held(*held), Held(*held)
        self._heap, self._unseen = self._held.heap, Unseen()  # a device pins what it needs as it comes to life
        self._unseen.note_pool(process.idle)
        self._unseen.note_shared(mappings.shared())
        self._begin()
        if self._register.has_outputs(frameworks):
            self.look_below(process)  # so that the first look after this one tells which have grown

    @property
    def told(self):
        """Holders found while the program ran, most bytes first."""
        told = [self._recounted.get(entry["path"], entry) for entry in self._told]
        return sorted(told + self.graphs.told, key=lambda entry: -entry["bytes"])

    @property
    def lately(self):
        """Holders that are told, or those that a look a moment ago found no more: a program
        that winds up has left the functions that held all."""
        when, lost = self._lost
        return self.told or (lost if own.monotonic() - when <= WIND_UP else [])

    @property
    def kept(self):
        """{path: {identity: weak reference} of some of its arrays} of the holders that are told."""
        kept = self._notes[-1][1].kept if self._notes else {}
        return {entry["path"]: kept[entry["path"]] for entry in self.told if entry["path"] in kept}

    def look(self, process, now):
        """Looks for holders when it is time: each time at twice the age of the
        time before, if that is not too dear; after a look that only notes one that
        compares follows in any case. Returns whether it did."""
        self._is_new = now >= self._next or self._is_worth_it(process, now)
        if not self._is_new:
            return self._recounts(now)
        if self._is_steady(process):
            self._next = self._unpaid = now + SECONDS
            return False
        if self._is_settled(process, now):
            self._next = self._unpaid = now + max(now - self._begun, SECONDS)
            self._is_new = False
            return True
        self._pay_for(process, now)
        before = process.heap_now()
        # Once, and no part of the cost, nor of the time that the look has: beside a program
        # that does not give up the interpreter's lock it may take as long.
        __import__("gpumem_agent.holders.running")
        begun = own.thread_time()
        compares = self._register is not None or bool(self._notes)
        self._compared += compares
        self._next = self._unpaid = now + max(self._pause(now, compares), SECONDS)
        self._recount = now + SECONDS
        held = process.held()
        came = self._held.gains(held)
        self._base.came(held)  # from now on, at the latest
        self.look_now(process, own.monotonic() + SECONDS, came)
        after = process.heap_now()
        self._held = Held(*self._after(held, after))
        self._base.leave_out(before, after)
        if not process.steps.go_on(now):
            self.sites.look_beside(process)
        self.allowance.spent += own.thread_time() - begun
        if compares:
            self._next = max(self._next, self.allowance.paid(self._begun))
        return True

    @staticmethod
    def _after(held, heap):
        """What the program held with the heap as it was after a look, whose notes are in it: what
        was read at its own pace may be of before the last import."""
        return held if heap is None else (held[0], heap)

    def _recounts(self, now):
        """Asks between looks how long the holders have become that are told. Returns whether
        any is longer."""
        if now < self._recount or not self._notes:
            return False
        before = {entry["path"]: entry["bytes"] for entry in self._told}
        return any(entry["bytes"] > before[path] for path, entry in self._ask_again(now).items())

    def _ask_again(self, now):
        """Asks how long the holders have become that are told. Returns {path: holder} of those that
        tell anything new."""
        from gpumem_agent.holders import recounts, running, runs

        begun = own.thread_time()
        self._recount = now + max((now - self._begun) / RECOUNTS, SECONDS)
        again = recounts.asked_again(self._told, self._notes[-1][1].ways, own.monotonic(), self._since)
        runs.mark(again.values())
        running.mark_old(again.values(), self._notes[-1][1])
        self._recounted.update(again)
        self.allowance.spent += own.thread_time() - begun
        return again

    def _is_settled(self, process, now):
        """Whether the holders that are told, with the line that fills the first, got all that came
        since the last look: another would tell the same, at the cost of a look."""
        if self._compared < COMPARED or not self._told or self._unseen.rises(process.idle):
            return False
        self._ask_again(now)
        if not self.explains(process):
            return False
        got = [dict(e, bytes=self._recounted.get(e["path"], e)["bytes"] - e["bytes"]) for e in self._told]
        leasts = GROWTH[0], GROWTH[1] if process.held()[0] is None else ON_HOST
        return self._held.grew(process.held()) and self._held.is_had(process.held(), sizes(got), SETTLED, leasts)

    def _pause(self, now, compares):
        """Seconds until the next look. A forked child may be old at its first one, which only
        notes: it has not as long again."""
        lasted = now - self._begun
        return lasted / 2 if not compares and lasted > 2 * FIRST_SECONDS else lasted

    def _is_worth_it(self, process, now):
        """Whether to look once more before that is paid for: a first look may have come too
        early, or had no time on a busy machine, and a short program has no other."""
        if now < self._unpaid:
            return False
        is_free = self.allowance.free_unseen > 0
        return self._is_unexplained(process) or is_free and self._unseen.rose(process.idle, now)

    def _is_unexplained(self, process):
        """Whether a look is free for what came and nobody that is told has. For much it always is."""
        if self._is_explained(process, self.told):
            return False
        if self.allowance.free > 0:
            return self._held.grew(process.held())
        return any(gain >= MUCH for gain, _ in self._held.gains(process.held()))

    def _pay_for(self, process, now):
        """Takes the look that begins off those that are free, if it is not paid for."""
        if now < self._next:
            self.allowance.take(is_unseen=not self._is_unexplained(process))
        self._unseen.note_pool(process.idle)

    def explains(self, process):
        """Whether a look was taken, and the holders that are told have what came, with a line
        that fills the first of them. Where objects of a class were made is not where what they
        have was asked for."""
        told = self.told
        fills = bool(told) and "filled" in told[0] and not names_class(told[0]["path"])
        return fills and self._is_explained(process, told)

    def _explains(self, process, found):
        """Whether what a look found is all that there is to find: the holders have what came, or
        nothing came. None where it is unknown how much came, or at a program's first looks, which
        come early."""
        gains = self._base.gains(process.held())
        if all(gain <= least for gain, least in gains):
            return True if gains else None
        if bool(found) and self._is_explained(process, found):
            return True
        return False if len(self._notes) > 1 else None

    def _is_explained(self, process, holders):
        """Whether some holders have as much as came since the survey: on the device, and on
        the host where that is worth a look."""
        leasts = 0, ON_HOST if process.held()[0] is not None else 0
        return self._base.is_had(process.held(), sizes(holders), EXPLAINED, leasts)

    def _is_steady(self, process):
        """Whether a program holds no more than it did at the survey or the last look, so that
        there is nobody to look for: one that tells steps, or after a look that compared one without
        a device, where the heap is all. Each of the figures that is unknown now or then says nothing."""
        tells_steps = self._register is not None and process.steps.known
        is_on_device = any(f.active() for f in process.frameworks)
        if not tells_steps and (is_on_device or self._compared == 0 or self._held.heap is None):
            return False
        gains = self._held.gains(process.held())
        holds_more = not gains or any(gain > least for gain, least in gains)
        return not (holds_more or self._unseen.rises(process.idle))

    def look_now(self, process, deadline, came=()):
        """Looks for holders, on any thread. Came is what the program holds more than at the look
        before, see Held.gains. Where that is much, a look that finds none takes nothing back of those
        that are told: they were under way just then. Where it is known to be little, there is no
        more to find than what names reach. Returns whether a look is possible."""
        from gpumem_agent import atomic
        from gpumem_agent.holders import bounds, lasting, running
        from gpumem_agent.holders.siblings import is_below

        if not atomic.POSSIBLE:
            return False
        since, reference = self._begun, self._register
        if reference is None and self._notes:
            since, reference = self._notes[-1]
        begun = own.monotonic()
        known = self._notes[-1][1] if self._notes else None
        before = (self._told, known.places, known.sizes) if known else (self._told, {}, {})
        on_host = self._host_grew(process.held()[1], mappings.shared())

        goes_on = any(gain > worth for gain, worth in came)
        stands = bool(came) and not goes_on

        def explains(holders):
            return stands or self._explains(process, holders)

        found, noted = running.look(process, reference, deadline, before, on_host, explains)
        bounds.without(found, self._told, self._unbounded)
        running.mark_stayed(found, noted, known)
        for entry in found:
            entry["over_ms"] = round(1000 * (begun - entry.get("since", since)), 3)
        told = lasting.lasting(found, self._told)
        self._single, swelling = lasting.swelling(found, self._single)
        for entry in found:
            entry.pop("since", None)
        told += swelling
        late = own.monotonic() > deadline or not noted.complete
        if late or self._register is None and self._notes and not self._is_aged(since):
            # Within a moment a holder that grows may have got nothing; and what a look had
            # no time for is not gone.
            again = {entry["path"] for entry in told}
            told += [e for e in self._told if e["path"] not in again and not is_below(e["path"], again)]
        self._notes = self._notes[-1:] + [(own.monotonic(), noted)]
        self.graphs.note_next()
        again = {entry["path"] for entry in found}
        if goes_on and not told and not any(entry["path"] in again for entry in self._told):
            noted.ways = getattr(known, "ways", {})
            return True
        if self._told and not told:
            self._lost = own.monotonic(), self.told
        self._told, self._recounted, self._since = told, {}, since
        return True

    def _host_grew(self, heap, shared):
        """Whether the host's heap is much larger than at its least since what lives was noted, or
        its shared memory, which what is pinned for a device is. A compiler at work has taken what
        it needs at the first look, and gives it back."""
        self._heap = least(self._heap, heap)
        self._base.no_more_than(heap)
        first = self._unseen.note_shared(shared)
        return any(
            None not in (now, then) and now - then >= ON_HOST
            for now, then in ((heap, self._heap), (shared, first))
        )

    def wants_below(self, process):
        """Whether to look at graphs below any name, on the program's own thread: after each look
        that is more than a question to holders that are told, and left something to be found."""
        if not self._is_new or self._explains(process, self._told):
            return False
        has_outputs = bool(self._notes) and getattr(self._notes[-1][1], "has_outputs", False)
        return has_outputs and any(f.keeps_graphs for f in process.frameworks)

    def look_below(self, process):
        """Looks at graphs below any name, at the end of a step or as an errand."""
        begun = own.thread_time()
        self.graphs.look_below(process, self._explained())
        self.allowance.spent += own.thread_time() - begun

    def look_at_graphs(self, process, step):
        """Looks for variables that keep a growing autograd graph, some steps after
        each look, on the program's own thread at the end of a step. Returns whether
        it did."""
        if not self._is_final or not self.wants(step):
            return False
        begun = own.thread_time()
        looked = self.graphs.look_at_step(process, step, self._explained())
        self.allowance.spent += own.thread_time() - begun
        return looked

    def _explained(self):
        """Bytes that the holders have that are told: of arrays, and beside a device on the host."""
        sums = [0, 0]
        for entry in self._told:
            sums[entry.get("host", False)] += entry["bytes"]
        return sums

    def look_at_sites(self, process, now):
        """Looks for survivors' sites when it is time, as look does for holders,
        on the program's own thread at the end of a step."""
        if now < self._sites_next or not self._is_final:
            return
        begun = own.thread_time()
        self._sites_next = now + max(now - self._begun, SECONDS)
        self.sites.look(process)
        self.allowance.spent += own.thread_time() - begun
        self._sites_next = max(self._sites_next, self.allowance.paid(self._begun))

    def sites_news(self):
        """What the last look at sites found, as record.Site objects, once."""
        return self.sites.news(self.sites_before())

    def sites_before(self):
        """Live bytes by site at the survey, or at a first look that is old enough
        to compare with; else None."""
        if self._register is not None:
            return self._register.sites
        first = self.sites.first
        return first[1] if first is not None and self._is_aged(first[0]) else None

    def _is_aged(self, when):
        now = own.monotonic()
        return now - when > AGE * (now - self._begun)
