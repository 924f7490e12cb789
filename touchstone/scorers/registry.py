"""Finds suites by entry point: any package adds one with a line under `touchstone.suites`."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec

from touchstone.scorers.base import ConfigError
from touchstone.scorers.defects import raised_at
from touchstone.scorers.installing import install_again, install_extras
from touchstone.scorers.suite import Suite

GROUP = "touchstone.suites"


def suite_entry_points() -> dict[str, EntryPoint]:
    """Name → entry point of every installed suite. Imports none."""
    return {point.name: point for point in entry_points(group=GROUP)}


def load_suite(name: str) -> Suite:
    """Import one suite. Raises `ConfigError` that names the installed ones, or the extra to install."""
    points = suite_entry_points()
    if name not in points:
        known = ", ".join(sorted(points)) or "none"
        raise ConfigError(f"suite {name!r} is not installed (installed: {known}); check its name, or install the suite's package")
    try:
        suite = points[name].load()
    except ImportError as error:
        raise ConfigError(f"suite {name!r} cannot be imported: no module {error.name!r}; install the extra that the suite needs") from error
    except Exception as error:  # noqa: BLE001 -- one broken package must not stop the other suites, and its message may say anything
        raise ConfigError(f"suite {name!r} cannot be imported: {type(error).__name__} at {raised_at(error)}; repair its package, or remove it") from None
    if not isinstance(suite, Suite):
        raise ConfigError(f"entry point {GROUP}:{name} is a {type(suite).__name__}, not a touchstone.scorers.suite.Suite")
    if suite.name != name:
        raise ConfigError(f"entry point {GROUP}:{name} names the suite {suite.name!r}; the two must agree")
    return suite


def load_all() -> list[Suite]:
    """Import every installed suite, in name order."""
    return [load_suite(name) for name in sorted(suite_entry_points())]


def usable_suites() -> dict[str, Suite]:
    """Name → suite, of those that can be imported here."""
    found: dict[str, Suite] = {}
    for name in sorted(suite_entry_points()):
        try:
            found[name] = load_suite(name)
        except ConfigError:
            continue
    return found


def known_kinds() -> frozenset[str]:
    """Every kind that an installed suite scores; suites that cannot be imported are left out."""
    return frozenset(known_signatures())


def known_signatures() -> dict[str, frozenset[str]]:
    """Kind → the keys that only records of this kind have, over every suite that can be imported."""
    return {kind: model.signature for suite in usable_suites().values() for kind, model in suite.cases.items()}


def why_not_here(name: str) -> str | None:
    """Why a suite cannot run in this environment, and what to install; None if it can."""
    if name not in suite_entry_points():
        return f"the suite {name} is not installed; {install_again()}"
    try:
        suite = load_suite(name)
    except ConfigError as error:
        return str(error)
    return missing_libraries(suite.requires)


def missing_libraries(requires: Mapping[str, str]) -> str | None:
    """A hint to install missing modules; None if none is missing. `requires`: module, or `a|b` for alternatives → the extra that contains it."""
    missing = {extra for modules, extra in requires.items() if all(find_spec(module) is None for module in modules.split("|"))}
    return f"its libraries are missing; {install_extras(*missing)}" if missing else None
