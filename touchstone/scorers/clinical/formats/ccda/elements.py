"""Small questions that the checks ask of elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from touchstone.scorers.clinical.formats.ccda.element_names import CDA, XSI_TYPE
from touchstone.scorers.clinical.formats.memory import Memory

#: Full name → name without its namespace: a document has thousands of elements, and few names.
_LOCAL: Final[Memory[str]] = Memory(lambda name: name.rpartition("}")[2])


def tag(name: str) -> str:
    """The full name of an element of CDA."""
    return f"{{{CDA}}}{name}"


def child(element: Any, *path: str) -> Any:
    """The first element at a path of names below an element; None where there is none."""
    for name in path:
        element = element.find(tag(name))
        if element is None:
            return None
    return element


def children(element: Any, name: str) -> Iterator[Any]:
    """The children of a name."""
    found: Iterator[Any] = element.iterchildren(tag(name))
    return found


def below(element: Any, *names: str) -> Iterator[Any]:
    """The elements of some names anywhere below an element, in document order."""
    found: Iterator[Any] = element.iter(*(tag(name) for name in names))
    return found


def local(element: Any) -> str:
    """An element's name without its namespace; empty for what is no element."""
    name = element.tag
    return _LOCAL[name] if isinstance(name, str) else ""


def kind(element: Any) -> str:
    """The data type that xsi:type names, without its prefix; empty where none is named."""
    return str(element.get(XSI_TYPE, "")).strip().rpartition(":")[2]


def is_null(element: Any) -> bool:
    """Whether an element says by a nullFlavor that it has no value."""
    return element.get("nullFlavor") is not None


def carries(element: Any, root: str) -> bool:
    """Whether an element carries a template id of a root, of any version."""
    return any(one.get("root") == root for one in element.iterchildren(tag("templateId")))
