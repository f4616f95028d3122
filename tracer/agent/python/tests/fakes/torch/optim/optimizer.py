from collections import OrderedDict
from itertools import chain

_global_optimizer_post_hooks = OrderedDict()


class RemovableHandle:
    """Takes its hook out of the dictionary that it was put in."""

    def __init__(self, hooks, key):
        self._hooks, self._key = hooks, key

    def remove(self):
        self._hooks.pop(self._key, None)


def register_optimizer_step_post_hook(hook):
    key = len(_global_optimizer_post_hooks)
    _global_optimizer_post_hooks[key] = hook
    return RemovableHandle(_global_optimizer_post_hooks, key)


class Optimizer:
    def __init__(self, params=()):
        import torch._inductor  # noqa: F401, as the real one, by way of its compiler

        self.param_groups = [{"params": list(params)}]
        self.state = {}
        self._optimizer_step_post_hooks = OrderedDict()

    def step(self):
        """Calls the hooks as the real one's wrapper does."""
        for post_hook in chain(
            self._optimizer_step_post_hooks.values(),
            _global_optimizer_post_hooks.values(),
        ):
            post_hook(self, (), {})
