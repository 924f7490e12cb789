"""The `touchstone doctor` checks of the clinical suite: FHIR packages, rule files of C-CDA, code tables, terminology servers."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from touchstone.scorers.base import Check, ConfigError
from touchstone.scorers.clinical.settings import DOCUMENT_NAME, ClinicalSettings, TerminologySettings

if TYPE_CHECKING:
    from touchstone.scorers.clinical.checks.terminology_server import TerminologyServer

#: Longest wait for a server, whatever its timeout in the settings, because a person is waiting.
_TIMEOUT_S = 5.0
#: One code of each of the most common systems; nothing of a patient.
_PROBES = (
    ("LOINC", "http://loinc.org", "8867-4"),
    ("SNOMED CT", "http://snomed.info/sct", "73211009"),
    ("RxNorm", "http://www.nlm.nih.gov/research/umls/rxnorm", "1191"),
)
_PACKAGES_SHOWN_MAX = 8


def doctor(settings: ClinicalSettings) -> Iterator[Check]:
    """Check the suite's settings as a worker would open them."""
    from touchstone.scorers.clinical.documents import DocumentValidator

    try:
        DocumentValidator(settings)
    except ConfigError as error:
        yield Check("suites", "bad", f"clinical: {error}", f"correct it in {DOCUMENT_NAME} or its variable")
        return
    yield _packages(settings)
    yield from _rules(settings)
    yield from _terminology(settings.terminology)


def _packages(settings: ClinicalSettings) -> Check:
    """The FHIR packages in which profiles are looked up."""
    from touchstone.scorers.clinical.formats.fhir.profiles.packages import home

    named = [path.name for path in settings.fhir.packages]
    folder = home()
    installed = sorted(one.name for one in folder.iterdir() if (one / "package").is_dir()) if settings.fhir.installed_packages and folder.is_dir() else []
    every = named + installed
    if not every:
        remedy = f"to have US Core and other profiles checked, put their packages below {folder} or name them in fhir.packages"
        return Check("fhir packages", "note", "none: profiles that documents claim are reported as not checked", remedy)
    rest = len(every) - _PACKAGES_SHOWN_MAX
    return Check("fhir packages", "good", ", ".join(every[:_PACKAGES_SHOWN_MAX]) + (f" and {rest} more" if rest > 0 else ""))


def _rules(settings: ClinicalSettings) -> Iterator[Check]:
    """The Schematron files for C-CDA documents, and the release of each."""
    from touchstone.scorers.clinical.formats.ccda.rules import rule_files, rules_of
    from touchstone.scorers.clinical.validator_options import ccda_options

    if find_spec("lxml") is None:
        return
    for path in rule_files(ccda_options(settings, None)):
        try:
            release = rules_of(path).release
        except ConfigError as error:
            yield Check("ccda rules", "bad", str(error), "replace the file, or take it out of the package cache")
        else:
            yield Check("ccda rules", "good", f"{path.name}, for {f'C-CDA {release}' if release else 'no release of C-CDA'}")


def _terminology(settings: TerminologySettings) -> Iterator[Check]:
    """The code tables, and the answer of each configured server."""
    from touchstone.scorers.clinical.checks.terminology_server import TerminologyServer, umls_server
    from touchstone.scorers.clinical.validator_options import server_token

    tables = [name for name, path in (("RxNorm", settings.rxnorm), ("LOINC", settings.loinc), ("CVX", settings.cvx)) if path is not None]
    if tables:
        yield Check("code tables", "good", f"{', '.join(tables)} can be read")
    timeout_s = min(settings.timeout_s, _TIMEOUT_S)
    if settings.url is not None:
        yield _asked(TerminologyServer(settings.url, token=server_token(settings), timeout_s=timeout_s), "terminology.url and its token")
    if settings.umls_api_key is not None:
        yield _asked(umls_server(settings.umls_api_key.get_secret_value(), timeout_s=timeout_s), "UMLS_API_KEY")
    if not tables and settings.url is None and settings.umls_api_key is None:
        what = "no server and no code table: membership in LOINC, RxNorm, SNOMED CT and others is reported as not checked"
        yield Check("terminology", "note", what, "to have it checked, set terminology.url, UMLS_API_KEY or files of your own releases")


def _asked(server: "TerminologyServer", setting: str) -> Check:
    """Whether a server answers, and which code systems it has. The first question without an answer ends the check."""
    from touchstone.scorers.clinical.checks.terminology_server import UNKNOWN_SYSTEM

    held, missing = [], []
    for title, system, code in _PROBES:
        membership, reason = server.membership(system, code)
        if membership != "not_checked":
            held.append(title)
        elif reason == UNKNOWN_SYSTEM:
            missing.append(title)
        else:
            return Check("terminology", "bad", f"{server.host}: {reason}", f"check {setting}, and that the server runs")
    if not held:
        return Check("terminology", "note", f"{server.host} answers, but holds none of {', '.join(missing)}")
    return Check("terminology", "good", f"{server.host} answers, and holds {', '.join(held)}" + (f"; not {', '.join(missing)}" if missing else ""))
