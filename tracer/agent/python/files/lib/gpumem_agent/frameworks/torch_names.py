"""How PyTorch names what its objects hold, and how a person does."""

HOOKS = "_backward_hooks"  # of a tensor, where C code keeps them


def tidy(text):
    """A path without the dictionaries in which modules keep their children."""
    for table in ("._modules[", "._parameters[", "._buffers["):
        while table in text:
            before, _, rest = text.partition(table)
            name, _, rest = rest.partition("]")
            text = "%s.%s%s" % (before, name.strip("'"), rest)
    return text
