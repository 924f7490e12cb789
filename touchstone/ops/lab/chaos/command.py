"""Kill workers and brokers while events flow, and check that every promise was kept.

Runs every scenario on every runner. Exit codes: 0 all promises kept, 1 one was broken, 3 a run could not be made.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from touchstone.ops.lab.chaos.grounds import open_grounds
from touchstone.ops.lab.chaos.run import Row, Run
from touchstone.ops.lab.chaos.scenarios import SCENARIOS
from touchstone.ops.lab.command import Arguments
from touchstone.ops.lab.runners import RUNNERS
from touchstone.scorers.base import ConfigError

EXIT_BROKEN, EXIT_ERROR = 1, 3
#: Columns of the table; the first three are names, to the left.
_TITLES = (
    *("scenario", "runner", "broker", "seed", "events", "lost", "doubled", "dead", "duplicates"),
    *("faults", "restarts", "lag_max", "lag_end", "samples", "seconds", "verdict"),
)
_WIDTHS = (14, 11, 8, 4, 6, 4, 7, 7, 10, 6, 8, 7, 7, 7, 7, 7)


def main(arguments: Sequence[str]) -> int:
    """Run the scenarios and print one line per run as it ends."""
    parser = Arguments("chaos", __doc__)
    parser.add_argument("--scenario", action="append", choices=list(SCENARIOS), help="only this one (repeatable); default: all")
    parser.add_argument("--runner", action="append", choices=RUNNERS, help="only this one (repeatable); default: all")
    parser.add_argument("--seed", action="append", type=int, help="seed of every choice (repeatable); default: 1")
    parser.add_argument("--events", type=int, default=20_000, help="records to feed per run (default 20000; below 10000 everything is shorter)")
    parser.add_argument("--broker", choices=("embedded", "apache", "apache3"), help="instead of the scenario's own (those that kill brokers need theirs)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep logs and stores here")
    parser.json()
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    broken = failed = False
    folder = options.keep or Path(tempfile.mkdtemp(prefix="touchstone-chaos-"))
    if not options.json:
        print(_line(_TITLES), flush=True)
    with open_grounds(folder / "brokers") as brokers:
        for name in options.scenario or SCENARIOS:
            for runner in options.runner or RUNNERS:
                for seed in options.seed or [1]:
                    scenario = SCENARIOS[name]
                    place = folder / f"{name}-{runner}-{seed}"
                    try:
                        make_empty(place)
                        with brokers.ground(options.broker or scenario.broker, small=scenario.small_disk == "broker") as grounds:
                            row = Run(scenario, runner, seed, options.events, grounds, place).play()
                    except (ConfigError, TimeoutError) as error:
                        failed = True
                        print(f"touchstone: {name} on {runner}: no run, because {error}", file=sys.stderr)
                        continue
                    rows.append(row)
                    broken = broken or not row.holds
                    if not options.json:
                        _show(row)
    if options.json:
        print(json.dumps([row.as_json() for row in rows], indent=2))
    if broken or failed or options.keep:
        print(f"logs and stores: {folder}", file=sys.stderr)
    return EXIT_BROKEN if broken else EXIT_ERROR if failed else 0


def make_empty(folder: Path) -> None:
    """Make a run's folder. Raises `ConfigError` where an earlier run left its own there: its store would be judged."""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} holds an earlier run; name another folder with --keep, or remove it")
    folder.mkdir(parents=True, exist_ok=True)


def _line(cells: Sequence[object]) -> str:
    """One line of the table: names to the left, numbers to the right."""
    return "  ".join(str(cell).ljust(width) if column < 3 else str(cell).rjust(width) for column, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True)))


def _show(row: Row) -> None:
    """One run for people."""
    dead = f"{row.dead}/{row.dead_expected}"
    cells = (row.scenario, row.runner, row.broker, row.seed, row.events, row.lost, row.doubled, dead, row.duplicates, row.faults, row.restarts)
    print(_line((*cells, row.lag_max, row.lag_end, row.samples, row.seconds, "held" if row.holds else "BROKEN")), flush=True)
    for violation in row.violations:
        print(f"    {violation}", flush=True)
