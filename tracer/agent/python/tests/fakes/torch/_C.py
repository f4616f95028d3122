class DisableTorchFunction:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


DisableTorchFunctionSubclass = DisableTorchFunction


def _cuda_memorySnapshot(pool):
    from torch.cuda import memory

    return memory._snapshot(with_traces=pool is None or pool[2])


def _cuda_attach_out_of_memory_observer(observer):
    from torch import cuda

    cuda._lazy_init()
    cuda.observers.append(observer)


def _cuda_isHistoryEnabled():
    from torch import cuda

    return cuda._recording


def _cuda_record_memory_history(enabled, *_):
    from torch import cuda

    cuda.record(enabled)


def _cuda_memoryStats(device):
    from torch import cuda

    return cuda.memory_stats_as_nested_dict(device)
