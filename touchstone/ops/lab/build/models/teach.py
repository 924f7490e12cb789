"""A teacher's answers to unlabelled pairs of the kind that summaries need, for a smaller model to learn from.

Premises are windows of the training sets' longer texts; hypotheses are sentences of the same text, of other texts, and copies with one change. A
run that was stopped continues at the end of its file.
"""

from __future__ import annotations

import asyncio
import gzip
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from touchstone.ops.lab.build.models.edits import EDITS, sentences
from touchstone.ops.lab.build.models.mixture import EDITED_SOURCES, rows
from touchstone.ops.lab.build.models.pairs import NEUTRAL, Pair
from touchstone.ops.lab.command import Arguments
from touchstone.schemas.settings.engines import EngineSettings
from touchstone.scorers.base import ConfigError

#: Pairs asked at once.
ROUND_PAIRS = 2_048
LENGTHS = (1, 1, 2, 2, 3, 5)


def unlabelled(premises: Sequence[str], *, count: int, chance: random.Random) -> list[tuple[str, str]]:
    """Pairs of a window and a sentence, each once: its own sentence, changed half of the time; one of the same text; one of the next text."""
    order = [text for text in dict.fromkeys(premises) if len(sentences(text)) > 1]
    chance.shuffle(order)
    made: list[tuple[str, str]] = []
    turn = 0
    while len(made) < count and order:
        text, other = order[turn % len(order)], order[(turn + 1) % len(order)]
        turn += 1
        parts, others = sentences(text), sentences(other)
        start = chance.randrange(len(parts))
        window = " ".join(parts[start : start + chance.choice(LENGTHS)])
        inside, near = parts[start], chance.choice(parts)
        changed = next((new for edit in chance.sample(EDITS, len(EDITS)) if (new := edit(inside, text, chance))), inside)
        made += [(window, changed if chance.random() < 0.5 else inside), (window, near), (window, chance.choice(others))]
        if turn >= 20 * len(order):
            break
    return list(dict.fromkeys(made))[:count]


def taught(path: Path) -> Iterator[Pair]:
    """The pairs of a file that this command wrote. Raises: ValueError with the line that has another shape."""
    with gzip.open(path, "rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = orjson.loads(line)
                e, n, c = map(float, row["p"])
                yield Pair(row["premise"], row["hypothesis"], NEUTRAL, (e, n, c))
            except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as problem:
                msg = f"{path.name}, line {number}: not a pair with premise, hypothesis and p ({type(problem).__name__})"
                raise ValueError(msg) from None


async def _teach(pairs: Sequence[tuple[str, str]], out: Path, settings: EngineSettings, done: int) -> None:
    from touchstone.scorers.engines.open_engines import open_engines

    engines = open_engines(settings)
    try:
        for start in range(done, len(pairs), ROUND_PAIRS):
            asked = pairs[start : start + ROUND_PAIRS]
            answers = await engines.nli.entail(asked)
            # One member of the gzip file a round, so that the file is readable when the run is stopped.
            rounded = [[round(float(value), 4) for value in row] for row in answers]
            lines = b"".join(orjson.dumps({"premise": p, "hypothesis": h, "p": row}) + b"\n" for (p, h), row in zip(asked, rounded, strict=True))
            await asyncio.to_thread(_append, out, gzip.compress(lines))
            print(f"{start + len(asked):,} of {len(pairs):,}", flush=True)  # progress of a long run
    finally:
        await engines.close()


def _append(out: Path, content: bytes) -> None:
    with out.open("ab") as stream:
        stream.write(content)


def main(arguments: Sequence[str]) -> None:
    """Draw, ask, write."""
    parser = Arguments("build nli-teacher", __doc__)
    parser.data("folder of <set>.jsonl.gz files", required=True)
    parser.add_argument("--out", type=Path, required=True, help="file to write: .jsonl.gz")
    parser.add_argument("--model", default="base", help="the teacher: base, a folder or a hub name")
    parser.add_argument("--base-folder", type=Path, metavar="DIR", help="the weights of the teacher's base (default: packages, then the hub)")
    parser.add_argument("--pairs", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=20261122)
    asked = parser.parse_args(arguments)
    try:
        premises = [pair.premise for name in EDITED_SOURCES for pair in rows(asked.data / f"{name}.jsonl.gz")]
        pairs = unlabelled(premises, count=asked.pairs, chance=random.Random(asked.seed))  # a draw, not a secret
        settings = EngineSettings(nli_model=asked.model, base_folder=asked.base_folder)
        asyncio.run(_teach(pairs, asked.out, settings, sum(1 for _ in taught(asked.out)) if asked.out.is_file() else 0))
    except (OSError, ValueError) as problem:
        raise ConfigError(str(problem)) from None
