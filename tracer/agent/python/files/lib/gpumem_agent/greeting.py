"""What the agent says of its process first, and again when that has changed."""

import sys

from gpumem_agent import role
from gpumem_agent.own import own

VERSION = 1  # of the protocol
EXPERIMENTS = ["collect", "purge", "trim", "sync"]
ACTIONS = EXPERIMENTS + ["sites", "holders"]
ROLE_SECONDS = 3.0  # between looks whether the program gave itself another rank or name


class Greeting:
    """The hellos of one process."""

    def __init__(self, process):
        self._process = process
        self._begun = own.monotonic()
        self._introduced = set()  # frameworks, on this connection
        self._role = {}  # as last told
        self._role_at = 0.0  # when to look again
        self.has_device = False  # one came to life

    def begin(self):
        """Greets on a new connection."""
        self._introduced = set()
        self.say("python", {})

    def say(self, name, facts):
        """Says hello, as a framework of that name."""
        process = self._process
        hello = {"v": VERSION, "pid": own.getpid(), "agent": name, "knocks": True}
        self._role = role.present()
        hello.update(self._role)
        versions = {"python": "%d.%d.%d" % sys.version_info[:3]}
        versions.update(facts.pop("versions", {}))
        hello.update(facts)
        hello["versions"] = versions
        hello["actions"] = ACTIONS if process.has_survivors() else EXPERIMENTS
        if any(f.composes and f.active() for f in process.frameworks):
            hello["actions"] = hello["actions"] + ["composition"]
        if process.late is not None:
            hello["actions"] = hello["actions"] + ["look", "leave"]
        process.connection.send({"hello": hello}, patience=0.05)

    def renew(self, now):
        """Greets again for each framework whose device came to life, and in
        another role."""
        for framework in self._process.frameworks:
            if framework.name in self._introduced or not framework.active():
                continue
            self._introduced.add(framework.name)
            if not self.has_device:
                self.has_device = True
                self._process.surveys.restart()
                self._process.generations.begin(now)
            self.say(framework.name, framework.facts())
        if now >= self._role_at:
            # Most take their role right at their beginning.
            self._role_at = now + min(ROLE_SECONDS, (now - self._begun) / 4)
            if self._role != role.present():
                self.say("python", {})
