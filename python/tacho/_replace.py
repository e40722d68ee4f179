"""Puts tacho's classes in the place of torch's profilers, when torch gets imported; torch itself is never imported from here.

Only the classes that would start a capture of their own are replaced. torch's schedules, enums, record_function, emit_nvtx and
tensorboard_trace_handler stay: they work with ours as they are.
"""
from __future__ import annotations

from types import ModuleType

from . import _imports


def _torch_profiler(module: ModuleType) -> None:
    from ._profile import profile  # pylint: disable=import-outside-toplevel
    setattr(module, "profile", profile)
    if hasattr(module, "_KinetoProfile"):  # what profile is without steps
        setattr(module, "_KinetoProfile", profile)


def _autograd_profiler(module: ModuleType) -> None:
    from ._profile import autograd_profile  # pylint: disable=import-outside-toplevel
    setattr(module, "profile", autograd_profile)


def install() -> None:
    """From now on."""
    _imports.when_imported("torch.autograd.profiler", _autograd_profiler)
    _imports.when_imported("torch.profiler.profiler", _torch_profiler)
    _imports.when_imported("torch.profiler", _torch_profiler)
