"""How PyTorch names what its objects hold, and how a person does."""

import collections

HOOKS = "_backward_hooks"  # of a tensor, where C code keeps them
# What backward made with create_graph, and what that refers to.
GRADIENT_GRAPHS = "cycle of tensors and their gradients with graphs"
GROUPS = "param_groups"  # of an optimizer
TABLES = ("_modules", "_parameters", "_buffers")  # of a module, for its parts
CONTAINERS = {"Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"}
FEW = 16  # layers


def is_hooks(item, child):
    """Whether an object is what a tensor has for its hooks, without asking either."""
    return type(child) is collections.OrderedDict and any(HOOKS in kind.__dict__ for kind in type(item).__mro__)


def is_container(item):
    """Whether an object is a module that stands for a list or a dictionary."""
    return any(
        kind.__name__ in CONTAINERS
        and kind.__dict__.get("__module__") == "torch.nn.modules.container"
        for kind in type(item).__mro__
    )


def is_of_groups(item, name):
    """Whether a name is the one for what an optimizer keeps of each of its parameters."""
    return name == "state" and any(
        kind.__name__ == "Optimizer" and kind.__dict__.get("__module__") == "torch.optim.optimizer"
        for kind in type(item).__mro__
    )


def parts_of(item):
    """The dictionaries with the elements of a module that stands for a list or a dictionary;
    () of any other object."""
    if not is_container(item):
        return ()
    names = object.__getattribute__(item, "__dict__")
    tables = map(names.get, TABLES)
    return tuple(table for table in tables if issubclass(type(table), dict))


def stands_for_many(item):
    """Whether such a module has elements that are much alike: layers that have names of
    their own are few."""
    fixed = any(kind.__name__ == "Sequential" for kind in type(item).__mro__)
    return not fixed or sum(map(dict.__len__, parts_of(item))) > FEW


def tidy(text):
    """A path without the dictionaries in which modules keep their children."""
    for table in (".%s[" % table for table in TABLES):
        while table in text:
            before, _, rest = text.partition(table)
            name, _, rest = rest.partition("]")
            text = "%s.%s%s" % (before, name.strip("'"), rest)
    return text
