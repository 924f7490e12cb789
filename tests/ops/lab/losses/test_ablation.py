from typing import Any

from touchstone.ops.lab.losses.ablation import PARTS, SHOWN, ablated, rows, switched, table
from touchstone.scorers.summary.settings import SummarySettings


def test_with_every_part_on_the_settings_are_as_they_were_and_each_part_off_changes_something() -> None:
    settings = SummarySettings(order_weight=0.4)
    assert switched(settings, frozenset(PARTS)) == settings
    off = {name: switched(settings, frozenset(PARTS) - {name}) for name in PARTS}
    assert all(one != settings for one in off.values())
    assert len({one.model_dump_json() for one in off.values()}) == len(PARTS)
    assert not off["relations"].conflicts.relations
    assert off["relations"].conflicts.wording


def test_a_part_within_another_is_alone_with_that() -> None:
    assert rows()["relations alone"] == {"relations", "wording"}
    assert rows()["headings alone"] == {"headings"}
    assert (rows()["none"], rows()["all"]) == (frozenset(), frozenset(PARTS))


async def test_a_row_has_the_figures_of_its_settings() -> None:
    async def measure(settings: SummarySettings) -> dict[str, Any]:
        return dict.fromkeys(SHOWN, None) | {"wrong_pass": 0.25 if settings.conflicts.unknown else 0.5, "golds": 1}

    found = await ablated(SummarySettings(), measure)
    assert {name: row["wrong_pass"] for name, row in found.items() if row["wrong_pass"] == 0.25} == {"unknown alone": 0.25, "all": 0.25}
    lines = table(found).splitlines()
    assert len(lines) == len(PARTS) + 3
    assert lines[1].startswith("none")
    assert "0.500" in lines[1]
