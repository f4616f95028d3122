_hooks = []


def register_optimizer_step_post_hook(hook):
    _hooks.append(hook)


class Optimizer:
    def __init__(self, params=()):
        self.param_groups = [{"params": list(params)}]

    def step(self):
        for hook in _hooks:
            hook(self, (), {})
