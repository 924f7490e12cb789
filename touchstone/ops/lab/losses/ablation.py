"""What each detector, cap and reading adds: a truth set's figures with none of them, with each alone, and with all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from touchstone.scorers.summary.settings import SummarySettings

Switch = dict[str, Any]
#: What can be switched, by name, with the settings that switch it off.
PARTS: Final[dict[str, Switch]] = {
    "values": {"conflicts": {"values": False}},
    "wording": {"conflicts": {"wording": False}},
    "relations": {"conflicts": {"relations": False}},
    "unknown": {"conflicts": {"unknown": False}},
    "contradiction": {"conflicts": {"contradiction_min": 1.0}},
    "unsupported_cap": {"conflicts": {"unsupported_cap": "none"}, "labels": {"unsupported_share_max": 1.0}},
    "unsure_cap": {"labels": {"unsure_share_max": 1.0}},
    "premise_cap": {"premise_words_max": 0},
    "headings": {"headings": False},
    "short_names": {"short_names": False},
}
#: Parts of another part, which do nothing without it.
WITHIN: Final = {"relations": "wording"}
#: The figures of a row.
SHOWN: Final = ("same_wording", "across_wordings", "wrong_pass", "paraphrase_pass", "errors_found", "false_alarms")


def rows() -> dict[str, frozenset[str]]:
    """The parts that are on in each row, by the row's name."""
    alone = {f"{name} alone": frozenset({name, WITHIN.get(name, name)}) for name in PARTS}
    return {"none": frozenset(), **alone, "all": frozenset(PARTS)}


def switched(settings: SummarySettings, on: frozenset[str]) -> SummarySettings:
    """The settings with every part off that is not in `on`; those that are on are as the settings have them."""
    values = settings.model_dump()
    for name, switch in PARTS.items():
        if name not in on:
            _overlay(values, switch)
    return type(settings).model_validate(values)


def _overlay(values: dict[str, Any], switch: Mapping[str, Any]) -> None:
    for key, value in switch.items():
        if isinstance(value, Mapping):
            _overlay(values[key], value)
        else:
            values[key] = value


async def ablated(settings: SummarySettings, measure: Callable[[SummarySettings], Awaitable[dict[str, Any]]]) -> dict[str, dict[str, float | None]]:
    """The figures of every row; `measure` gives a truth set's figures with the settings of a row."""
    found = {}
    for name, on in rows().items():
        figures = await measure(switched(settings, on))
        found[name] = {shown: figures[shown] for shown in SHOWN}
    return found


def table(found: Mapping[str, Mapping[str, float | None]]) -> str:
    """A line a row, below the names of the figures."""
    width = max(map(len, found)) + 2
    lines = [" " * width + "  ".join(SHOWN)]
    for name, figures in found.items():
        lines.append(name.ljust(width) + "  ".join(_shown(figures[shown]).rjust(len(shown)) for shown in SHOWN))
    return "".join(f"{line}\n" for line in lines)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
