class record_function:
    """Names are kept, so that a test can see which one was used."""
    names = []

    def __init__(self, name, args=None):
        self.name = name

    def __enter__(self):
        self.names.append(self.name)
        return self

    def __exit__(self, *_):
        return None


class profile:
    def __init__(self, *_, **__):
        raise AssertionError("torch.autograd.profiler.profile itself was used")


class emit_nvtx:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None
