"""Tacho: what a program does in time, on the CPU and on the GPU.

profile, schedule, record_function and their like are torch.profiler's, over a capture of Tacho's; range and mark name parts of any
program; load opens reports.
"""
from ._averages import FunctionEventAvg, KeyAverages
from ._marks import mark, pop, push, range, record_function  # pylint: disable=redefined-builtin
from ._native import TachoError
from ._notebook import load_ipython_extension
from ._profile import autograd_profile, profile, supported_activities, tensorboard_trace_handler
from ._report import Report, load
from ._reports import Reports
from ._schedule import ProfilerAction, ProfilerActivity, schedule
from ._table import Table

__version__ = "0.1.0"
__all__ = ["FunctionEventAvg", "KeyAverages", "ProfilerAction", "ProfilerActivity", "Report", "Reports", "Table", "TachoError",
           "autograd_profile", "load", "load_ipython_extension", "mark", "pop", "profile", "push", "range", "record_function", "schedule",
           "supported_activities", "tensorboard_trace_handler"]
