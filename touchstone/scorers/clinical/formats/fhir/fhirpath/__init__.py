"""The part of FHIRPath that invariants of FHIR R4 and US Core are written in, compiled to Python functions over parsed JSON."""

from touchstone.scorers.clinical.formats.fhir.fhirpath.compiler import compile_expression, truth
from touchstone.scorers.clinical.formats.fhir.fhirpath.corrections import corrected
from touchstone.scorers.clinical.formats.fhir.fhirpath.environment import Environment
from touchstone.scorers.clinical.formats.fhir.fhirpath.presence import Verdict, decide
from touchstone.scorers.clinical.formats.fhir.fhirpath.syntax import FhirPathError, Node, parse
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import Undecided

__all__ = ["Environment", "FhirPathError", "Node", "Undecided", "Verdict", "compile_expression", "corrected", "decide", "parse", "truth"]
