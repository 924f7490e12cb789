"""Imports that happen at the first use of the imported names.

Every process of a parallel run collects every test. The model libraries take seconds to import, so the tests of models
share one process (`ordering.ModelsTogether`), and the others collect them without importing the libraries.
"""

import builtins
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def lazily() -> Iterator[None]:
    """Within it, an import binds stand-ins: for a module (`import torch`) or for names of one (`from transformers import BertModel`)."""
    before = builtins.__import__

    def stand_in(
        name: str, globals: Mapping[str, object] | None = None, locals: Mapping[str, object] | None = None, fromlist: Sequence[str] | None = (), level: int = 0
    ) -> Any:
        return _Names(name) if fromlist else _StandIn(name)

    builtins.__import__ = stand_in
    try:
        yield
    finally:
        builtins.__import__ = before


class _Names:
    """What a `from` import takes its names from."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _StandIn(self._module, name)


class _StandIn:
    """A module, or a class or function of one; no class to be asked of by `isinstance`."""

    def __init__(self, module: str, name: str | None = None) -> None:
        self._module, self._name = module, name

    def _resolved(self) -> Any:
        module = import_module(self._module)
        return module if self._name is None else getattr(module, self._name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks everything in a module whether it is a test, a mock or a fixture
            raise AttributeError(name)
        return getattr(self._resolved(), name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._resolved()(*arguments, **named)
