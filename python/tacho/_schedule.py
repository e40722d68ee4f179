"""Which steps are recorded, in the words of torch.profiler. Its own enums and schedules are as good as these: values are compared."""
from __future__ import annotations

import enum
from typing import Any, Callable


class ProfilerAction(enum.Enum):
    """What is done during a step."""
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3  # the last one of a cycle


class ProfilerActivity(enum.Enum):
    """What is recorded."""
    CPU = 0
    XPU = 1
    CUDA = 2


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """Of each wait + warmup + active steps the last `active` are recorded, `repeat` times over (0: to the end), after the first
    skip_first steps. With skip_first_wait the first cycle does not wait."""
    if min(wait, warmup, repeat, skip_first, skip_first_wait) < 0 or active <= 0:
        raise ValueError("schedule() needs active > 0, and no negative numbers")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError("a step number cannot be negative")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if 0 < repeat <= step // cycle:
            return ProfilerAction.NONE
        within = step % cycle
        if within < wait:
            return ProfilerAction.NONE
        if within < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if within < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def as_action(action: Any) -> ProfilerAction:
    """From torch's enum, or ours."""
    return action if isinstance(action, ProfilerAction) else ProfilerAction[action.name]


def always(_: int) -> ProfilerAction:
    """The schedule of a profile that has none."""
    return ProfilerAction.RECORD
