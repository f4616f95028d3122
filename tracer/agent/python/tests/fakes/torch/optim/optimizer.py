_hooks = []


def register_optimizer_step_post_hook(hook):
    _hooks.append(hook)


class Optimizer:
    def __init__(self, params=()):
        import torch._inductor  # noqa: F401, as the real one, by way of its compiler

        self.param_groups = [{"params": list(params)}]

    def step(self):
        for hook in _hooks:
            hook(self, (), {})
