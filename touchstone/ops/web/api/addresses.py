"""The API's addresses for the OpenAPI document."""

from touchstone.ops.store.case_filter import LABELS, SEVERITIES, SORTS, SOURCES
from touchstone.ops.store.history import FACETS, PAGE_MAX
from touchstone.ops.web.addresses import Address, Parameter
from touchstone.ops.web.api import bodies, models

FILTER = (
    *(Parameter(name, f"{what}; may be repeated") for name, what in (("suite", "a suite"), ("concern", "a concern"), ("batch", "a batch"))),
    Parameter("code", "a code of a finding or failure; of several, all must be there"),
    *(Parameter(name, f"{what}; may be repeated") for name, what in (("model", "a model"), ("kind", "a kind of event"))),
    Parameter("label", "a label; may be repeated", values=LABELS),
    Parameter("source", "where the event comes from; may be repeated", values=SOURCES),
    Parameter("severity", "the highest severity of the findings; may be repeated", values=SEVERITIES),
    Parameter("version", "version of the suite"),
    Parameter("digest", "digest of the configuration"),
    Parameter("feedback", "thumbs of users", values=("up", "down", "none")),
    Parameter("kept", "whether the archive has the case", values=("yes", "no")),
    Parameter("since", "scored at or after this moment (ISO 8601)"),
    Parameter("until", "scored before this moment (ISO 8601)"),
    Parameter("q", "part of an event id, a case id or a code"),
    Parameter("sort", "the order", values=SORTS),
)
CURSOR = Parameter("cursor", "`next` of the page before")
LIMIT = Parameter("limit", "at most so many", 1, PAGE_MAX)
BY = Parameter("by", "what to count by", values=FACETS)
RESULT = Parameter("result", "id of one of the results of the event; by default the newest")
#: Every address needs the store, and a scope.
AWAY = (403, 503)
BODY = (413, 415, 422)

ADDRESSES = (
    Address("/api/cases", "Results of the whole history, in pages.", models.Cases, (*FILTER, LIMIT, CURSOR), refusals=AWAY),
    Address("/api/facets", "Counts of results by a property.", models.Facets, (*FILTER, BY), refusals=AWAY),
    Address("/api/cases/{id}", "A case by the id of its event, its trace or a result.", models.OneCase, (RESULT,), refusals=(*AWAY, 404)),
    Address(
        "/api/cases/{id}", "Annotate a case, or set its feedback.", models.OneCase, method="patch", body=bodies.PatchBody,
        refusals=(*AWAY, *BODY, 404, 412, 428), headers=("If-Match",),
    ),
    Address("/api/cases/{id}/reading", "How a case reads beside one of its results.", models.Reading, (RESULT,), refusals=(*AWAY, 404)),
    Address("/api/cases/{id}/document", "The event as it was kept. Needs the scope text.", "application/json", refusals=(*AWAY, 404)),
    Address("/api/views", "The saved views.", models.Views, refusals=AWAY),
    Address("/api/views/{id}", "Save a view.", models.View, method="put", body=bodies.ViewBody, refusals=(*AWAY, *BODY, 409)),
    Address("/api/views/{id}", "Delete a saved view.", "application/json", method="delete", refusals=(*AWAY, 404), done=(204,)),
)  # fmt: skip
