"""The labelled sets that a model can be measured on, recognised by the beginning of their file's name.

Each set turns its rows into questions (how far do these premises support this hypothesis?) and the answers into figures. Premises are
sliding windows of 1, 2 and 5 sentences, as in Loss V3; "support" is a function of the pair's features, so the same answers give the
figures of the model, of its calibrated combination and of the floors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from touchstone.ops.lab.models.files import SUFFIXES
from touchstone.ops.lab.models.measures import Measure, Vector, auroc, balanced_accuracy, best_threshold, interval, pearson, spearman
from touchstone.scorers.base import ConfigError
from touchstone.scorers.summary.components.facts import RATIO_EDGE

LABELS = ("entailment", "neutral", "contradiction")
#: Share of a set's documents on which its threshold is chosen; the others are measured.
THRESHOLD_SHARE = 0.3
#: Premises whose contradiction counts: those nearest to a sentence by cosine.
NEAREST = 4


@dataclass(frozen=True, slots=True)
class Question:
    """Does any of the premises support the hypothesis?"""

    premises: tuple[str, ...]
    hypothesis: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Features of each (premise, hypothesis) pair of one question, shape (premises,): entailment, contradiction, containment, cosine."""

    entailment: Vector
    contradiction: Vector
    containment: Vector
    cosine: Vector


@dataclass(frozen=True, slots=True)
class Support:
    """Turns features into a degree of support: `present` for recall, `true` for precision; `contradicts`: the model's contradiction counts against it."""

    name: str
    present: Callable[[Answer], Vector]
    true: Callable[[Answer], Vector]
    contradicts: bool


Figures = dict[str, Any]
Split = Callable[[str], list[str]]


class LabelledSet:
    """One set: `prefix` of its file name, its rows, its questions and its figures."""

    prefix = ""

    def __init__(self, chosen: Sequence[Mapping[str, Any]], windows: Split) -> None:
        self.rows = chosen
        self.windows = windows
        self.questions: list[Question] = []
        self._prepare()

    def _prepare(self) -> None:
        raise NotImplementedError

    def figures(self, answers: Sequence[Answer], support: Support) -> Figures | None:
        """The set's figures for one kind of support; None if it has no meaning for this set."""
        raise NotImplementedError


def _with_interval(name: str, measure: Measure, n: int, groups: np.ndarray[Any, np.dtype[np.intp]] | None = None) -> Figures:
    """A figure and its interval."""
    bounds = interval(measure, n, groups=groups)
    return {name: measure(np.arange(n)), f"{name}_ci95": list(bounds) if bounds else None}


def _groups(names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Group numbers of equal names."""
    return np.unique(np.array(names), return_inverse=True)[1].astype(np.intp)


def _best(values: Vector) -> float:
    """The best premise's value; 0 if there is none."""
    return float(values.max()) if len(values) else 0.0


def _faithful(answer: Answer, support: Support) -> float:
    """The best support over the premises of one sentence; with the model's, against the contradiction of those nearest to it: e / (e + c + 0.1).

    The greatest contradiction over all premises punishes true sentences: some window of a document always seems to contradict one.
    """
    support_max = _best(support.true(answer))
    if not support.contradicts:
        return support_max
    near = np.argsort(-answer.cosine, kind="stable")[:NEAREST]
    return support_max / (support_max + _best(answer.contradiction[near]) + RATIO_EDGE)


class ThreeWay(LabelledSet):
    """MNLI matched: three-way accuracy."""

    prefix = "mnli_m"

    def _prepare(self) -> None:
        self.questions = [Question((row["premise"],), row["hypothesis"]) for row in self.rows]
        self._truth = np.array([LABELS.index(row["label"]) for row in self.rows])

    def figures(self, answers: Sequence[Answer], support: Support) -> Figures | None:
        """Accuracy of the most probable label; only the model itself can say it."""
        truth = self._truth
        n = len(truth)
        if support.name != "nli":
            if support.contradicts:
                return None
            return {"n": n, "accuracy": float(np.bincount(truth).max() / n), "what": "share of the largest class"}
        predicted = np.array([int(np.argmax((a.entailment[0], 1 - a.entailment[0] - a.contradiction[0], a.contradiction[0]))) for a in answers])
        right = predicted == truth
        return {"n": n, **_with_interval("accuracy", lambda chosen: float(right[chosen].mean()), n)}


class Units(LabelledSet):
    """REALSumm: is each content unit of the gold summary present in the system's summary? One question a unit."""

    prefix = "realsumm_scu"

    def _prepare(self) -> None:
        self._labels: list[float] = []
        self._documents: list[str] = []
        for row in self.rows:
            premises = tuple(self.windows(row["summary"]))
            for unit, label in zip(row["scus"], row["scu_labels"], strict=True):
                self.questions.append(Question(premises, unit))
                self._labels.append(float(label))
                self._documents.append(row["doc_id"])

    def figures(self, answers: Sequence[Answer], support: Support) -> Figures:
        """AUROC of the best window's support, intervals over documents."""
        scores = np.array([_best(support.present(answer)) for answer in answers])
        labels = np.array(self._labels)
        n = len(labels)
        return {"n": n, **_with_interval("auroc", lambda chosen: auroc(scores[chosen], labels[chosen]), n, _groups(self._documents))}


class Recalls(Units):
    """REALSumm, summary by summary: the correlation of Touchstone's recall with the human one."""

    prefix = "realsumm_docs"

    def figures(self, answers: Sequence[Answer], support: Support) -> Figures:
        """Pearson and Spearman over all summaries; and Pearson within each document over its systems, averaged."""
        best = iter([_best(support.present(answer)) for answer in answers])
        ours = np.array([np.mean([next(best) for _ in row["scus"]]) for row in self.rows])
        human = np.array([np.mean(row["scu_labels"]) for row in self.rows])
        groups = _groups([row["doc_id"] for row in self.rows])
        within = [pearson(ours[groups == group], human[groups == group]) for group in np.unique(groups) if (groups == group).sum() > 2]
        known = [value for value in within if not np.isnan(value)]
        n = len(ours)
        return {
            "n": n,
            **_with_interval("pearson", lambda chosen: pearson(ours[chosen], human[chosen]), n, groups),
            **_with_interval("spearman", lambda chosen: spearman(ours[chosen], human[chosen]), n, groups),
            "pearson_within_documents": float(np.mean(known)) if known else None,
        }


class Edits(LabelledSet):
    """SummEdits: is the claim consistent with its document? Precision of the claim, its threshold chosen on a share of the documents."""

    prefix = "summedits"

    def _prepare(self) -> None:
        self._owner: list[int] = []
        for place, row in enumerate(self.rows):
            premises = tuple(self.windows(row["doc"]))
            for sentence in self.windows(row["claim"], (1,)):  # type: ignore[call-arg]
                self.questions.append(Question(premises, sentence))
                self._owner.append(place)

    def _scores(self, answers: Sequence[Answer], support: Support) -> Vector:
        """Mean over the claim's sentences."""
        owner = np.array(self._owner)
        each = np.array([_faithful(answer, support) for answer in answers])
        return np.bincount(owner, weights=each, minlength=len(self.rows)) / np.maximum(1, np.bincount(owner, minlength=len(self.rows)))

    def figures(self, answers: Sequence[Answer], support: Support) -> Figures | None:
        """Balanced accuracy on the documents that did not choose the threshold; AUROC over all."""
        scores, labels = self._scores(answers, support), np.array([float(row["label"]) for row in self.rows])
        chooses = np.array([_share(row["doc"]) < THRESHOLD_SHARE for row in self.rows])
        if not (0 < labels[chooses].sum() < chooses.sum()) or not (0 < labels[~chooses].sum() < (~chooses).sum()):
            return None
        threshold = best_threshold(scores[chooses], labels[chooses])
        predicted, truth = (scores[~chooses] >= threshold).astype(float), labels[~chooses]
        groups = _groups([row["doc"] for row, choosing in zip(self.rows, chooses, strict=True) if not choosing])
        return {
            "n": len(truth),
            "n_threshold": int(chooses.sum()),
            "threshold": threshold if np.isfinite(threshold) else None,
            **_with_interval("balanced_accuracy", lambda chosen: balanced_accuracy(predicted[chosen], truth[chosen]), len(truth), groups),
            "auroc": auroc(scores, labels),
        }


class Ranking(LabelledSet):
    """Falke et al. 2019: the correct sentence must outscore the incorrect one."""

    prefix = "rank19"

    def _prepare(self) -> None:
        for row in self.rows:
            premises = tuple(self.windows(row["premise"]))
            self.questions += [Question(premises, row["correct"]), Question(premises, row["incorrect"])]

    def figures(self, answers: Sequence[Answer], support: Support) -> Figures:
        """Share of pairs in the right order; a tie counts half."""
        scores = np.array([_faithful(answer, support) for answer in answers]).reshape(-1, 2)
        right = (scores[:, 0] > scores[:, 1]) + 0.5 * (scores[:, 0] == scores[:, 1])
        return {"n": len(right), **_with_interval("accuracy", lambda chosen: float(right[chosen].mean()), len(right))}


class Claims(LabelledSet):
    """WiCE: is the claim supported by the evidence as a whole?"""

    prefix = "wice_claim"

    def _prepare(self) -> None:
        self.questions = [Question(tuple(self.windows("\n".join(row["evidence"]))), row["claim"]) for row in self.rows]

    def figures(self, answers: Sequence[Answer], support: Support) -> Figures | None:
        """AUROC of supported against partly and not supported."""
        scores = np.array([_best(support.present(answer)) for answer in answers])
        labels = np.array([float(row["label"] == "supported") for row in self.rows])
        return {"n": len(labels), **_with_interval("auroc", lambda chosen: auroc(scores[chosen], labels[chosen]), len(labels))}


SETS: tuple[type[LabelledSet], ...] = (ThreeWay, Units, Recalls, Edits, Ranking, Claims)
#: Sets whose rows are another set's file: REALSumm's recalls are computed from the rows with the units.
ROWS_OF = {"realsumm_docs": "realsumm_scu"}


def _share(text: str) -> float:
    """A number in [0, 1) from the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


def find_sets(folder: Path) -> dict[str, list[Path]]:
    """Prefix → its files, which are one set together. Raises `ConfigError` where the folder cannot be read or holds none."""
    try:
        files = sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIXES))
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be read ({error.strerror}); check --data") from None
    found: dict[str, list[Path]] = {}
    for each in SETS:
        mine = [path for path in files if path.name.startswith(ROWS_OF.get(each.prefix, each.prefix))]
        if mine:
            found[each.prefix] = mine
    if not found:
        raise ConfigError(f"{folder}: holds no labelled set; files must begin with {', '.join(each.prefix for each in SETS)} and end with .jsonl or .jsonl.gz")
    return found
