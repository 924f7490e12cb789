"""The mutants: one fence each, with the promise that it keeps and the tests that must fail without it."""

from touchstone.ops.lab.mutants.listed.api import API
from touchstone.ops.lab.mutants.listed.archive import ARCHIVE
from touchstone.ops.lab.mutants.listed.judges import JUDGES
from touchstone.ops.lab.mutants.listed.readings import READINGS
from touchstone.ops.lab.mutants.listed.scoring import SCORING
from touchstone.ops.lab.mutants.listed.streams import STREAMS
from touchstone.ops.lab.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (*STREAMS, *SCORING, *JUDGES, *READINGS, *ARCHIVE, *API)
