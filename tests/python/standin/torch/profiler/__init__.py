from torch.autograd.profiler import record_function

from .profiler import ProfilerAction, ProfilerActivity, profile, schedule
