from collections import OrderedDict
from itertools import chain

_global_optimizer_post_hooks = OrderedDict()


def register_optimizer_step_post_hook(hook):
    _global_optimizer_post_hooks[len(_global_optimizer_post_hooks)] = hook


class Optimizer:
    def __init__(self, params=()):
        import torch._inductor  # noqa: F401, as the real one, by way of its compiler

        self.param_groups = [{"params": list(params)}]
        self._optimizer_step_post_hooks = OrderedDict()

    def step(self):
        """Calls the hooks as the real one's wrapper does."""
        for post_hook in chain(
            self._optimizer_step_post_hooks.values(),
            _global_optimizer_post_hooks.values(),
        ):
            post_hook(self, (), {})
