import enum


class ProfilerAction(enum.Enum):
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(enum.Enum):
    CPU = 0
    CUDA = 2


def schedule(*, wait, warmup, active, repeat=0, skip_first=0):
    """A schedule of its own, with the enum above: the first cycle alone."""
    def action(step):
        step -= skip_first
        if step < wait or step >= wait + warmup + active:
            return ProfilerAction.NONE
        if step < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if step < wait + warmup + active - 1 else ProfilerAction.RECORD_AND_SAVE
    return action


class profile:
    def __init__(self, *_, **__):
        raise AssertionError("torch.profiler.profile itself was used")
