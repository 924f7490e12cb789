"""Learn the commentary model's weights from labelled sentences, or measure how well it does on kinds of sentences that it was not shown.

Deterministic: the same files give the same weights.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from touchstone.ops.lab.command import Arguments
from touchstone.scorers.summary.hard_fails.commentary.assistant import is_assistant
from touchstone.scorers.summary.hard_fails.commentary.detection import bare, has_cue
from touchstone.scorers.summary.hard_fails.commentary.model import features
from touchstone.scorers.summary.hard_fails.commentary.nouns import introduces, tokens
from touchstone.scorers.summary.hard_fails.commentary.source_texts import is_about_its_source
from touchstone.scorers.summary.sentences import split

ROOT = Path(__file__).resolve().parents[4]
CORPUS = ROOT / "tests" / "scorers" / "summary" / "corpus"
#: Files to learn from. The corpus of unseen sentences is not among them.
FILES = ("hard_fails_written.jsonl", "hard_fails_dev.jsonl", "meta_commentary.jsonl")
WEIGHTS = ROOT / "touchstone" / "scorers" / "summary" / "hard_fails" / "commentary" / "weights.json"

RIDGE = 1.0
#: Log odds above which a sentence counts as commentary: a good summary that fails hard costs more than a remark that passes.
THRESHOLD = 1.5
#: Only the worst sentence of a commentary is learned from; so many rounds find it.
ROUNDS = 2
STEPS = 6
WEIGHT_MIN = 0.02
FOLDS = 5

Floats = NDArray[np.float64]


class Row(NamedTuple):
    """A labelled text. `sentences`: the features of each that has a cue; `by_rule`: True if a rule finds it."""

    text: str
    commentary: bool
    group: str
    sentences: tuple[frozenset[str], ...]
    by_rule: bool


class Weights(NamedTuple):
    """A linear model."""

    weights: dict[str, float]
    bias: float

    def of(self, row: Row) -> float:
        """The greatest log odds of a text's sentences."""
        return max((self.bias + sum(self.weights.get(feature, 0.0) for feature in sentence) for sentence in row.sentences), default=-np.inf)


def read(paths: Sequence[Path]) -> list[Row]:
    """The texts of all files that are mentions or commentary; whole ones hold none."""
    rows: list[Row] = []
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            stored: dict[str, Any] = json.loads(line)
            reading = stored.get("reading") or ("commentary" if stored["fires"] else "mention")
            if reading != "cut" and "gold" not in stored:  # what a text is that stands beside a gold depends on that too
                rows.append(_row(stored["text"], reading == "commentary", f"{path.stem}:{stored.get('kind') or len(rows) % FOLDS}"))
    return rows


def _row(text: str, commentary: bool, group: str) -> Row:
    """A text with its features and the verdict of the rules."""
    introduced: frozenset[str] = frozenset()
    sentences, by_rule = [], False
    for span in split(text):
        sentence = bare(text[span.start : span.end])
        words = tokens(sentence)
        if has_cue(words):  # the others are not asked about
            sentences.append(frozenset(features(words, introduced)))
        by_rule = by_rule or is_assistant(sentence.lower()) or is_about_its_source(words, introduced)
        introduced |= introduces(words)
    return Row(text, commentary, group, tuple(sentences), by_rule)


def learn(rows: Sequence[Row]) -> Weights:
    """Logistic regression with a ridge, over sentences; of a commentary, its most suspicious sentence counts."""
    sentences = [(index, sentence) for index, row in enumerate(rows) for sentence in row.sentences]
    counts = Counter(feature for _, sentence in sentences for feature in sentence)
    names = sorted(feature for feature, count in counts.items() if count > 1)
    place = {feature: column for column, feature in enumerate(names)}
    matrix = np.zeros((len(sentences), len(names)))
    for at, (_, sentence) in enumerate(sentences):
        matrix[at, [place[feature] for feature in sentence if feature in place]] = 1
    kernel = matrix @ matrix.T + 1
    labels = np.array([float(rows[index].commentary) for index, _ in sentences])
    share = np.ones(len(sentences))
    several: dict[int, list[int]] = defaultdict(list)
    for at, (index, _) in enumerate(sentences):
        several[index].append(at)
    groups = [np.array(places) for index, places in several.items() if len(places) > 1 and rows[index].commentary]
    for group in groups:
        share[group] = 1 / len(group)
    for _ in range(ROUNDS):
        odds = kernel @ _dual(kernel, labels, share)
        for group in groups:
            share[group] = 0
            share[group[np.argmax(odds[group])]] = 1
    dual = _dual(kernel, labels, share)
    learned = matrix.T @ dual
    return Weights(
        {name: round(float(weight), 3) for name, weight in zip(names, learned, strict=True) if abs(weight) >= WEIGHT_MIN}, round(float(dual.sum()), 3)
    )


def _dual(kernel: Floats, labels: Floats, share: Floats) -> Floats:
    """The dual coefficients of a weighted logistic regression, by Newton's method."""
    used = np.flatnonzero(share)
    part, wanted, weight = kernel[np.ix_(used, used)], labels[used], share[used]
    odds: Floats = np.zeros(len(used))
    dual: Floats = np.zeros(len(used))
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-odds))
        curve = np.maximum(chance * (1 - chance) * weight, 1e-4)
        solved = np.linalg.solve(part + np.diag(RIDGE / curve), odds + (wanted - chance) * weight / curve)
        dual = np.asarray(solved, dtype=np.float64)
        odds = part @ dual
    full = np.zeros(len(labels))
    full[used] = dual
    return full


def cross_validate(rows: Sequence[Row]) -> None:
    """Print how often rules, model and both are right, each kind of sentence judged by a model of the other folds."""
    groups = sorted({row.group for row in rows})
    fold = {group: at % FOLDS for at, group in enumerate(groups)}
    odds = np.zeros(len(rows))
    for part in range(FOLDS):
        model = learn([row for row in rows if fold[row.group] != part])
        for index, row in enumerate(rows):
            if fold[row.group] == part:
                odds[index] = model.of(row)
    wanted, by_rule = np.array([row.commentary for row in rows]), np.array([row.by_rule for row in rows])
    for name, found in (("rules", by_rule), *((f"model > {at}", odds > at) for at in (0.0, THRESHOLD)), ("both", by_rule | (odds > THRESHOLD))):
        print(f"{name:12} commentary found {(found & wanted).sum()} of {wanted.sum()}, content hit {(found & ~wanted).sum()} of {(~wanted).sum()}")


def main(arguments: Sequence[str]) -> None:
    """Learn and write, or cross-validate."""
    parser = Arguments("build commentary", __doc__)
    parser.add_argument("--cross-validate", action="store_true", help="judge each kind by a model that saw none of it; write nothing")
    parser.add_argument("files", nargs="*", type=Path, default=[CORPUS / name for name in FILES], help="JSONL of text and reading")
    asked = parser.parse_args(arguments)
    rows = read(asked.files)
    if asked.cross_validate:
        cross_validate(rows)
        return
    model = learn(rows)
    stored = {"bias": model.bias, "threshold": THRESHOLD, "weights": model.weights}
    WEIGHTS.write_text(json.dumps(stored, ensure_ascii=False, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(rows)} texts, {len(model.weights)} weights: {WEIGHTS.relative_to(ROOT)}")
