"""The API's addresses for the OpenAPI document."""

from touchstone.ops.store.case_filter import LABELS, SEVERITIES, SORTS, SOURCES
from touchstone.ops.store.history import FACETS, PAGE_MAX
from touchstone.ops.store.queue_rows import CASES_MAX, STATES
from touchstone.ops.store.runs import RUNS_MAX
from touchstone.ops.web.addresses import Address, Parameter
from touchstone.ops.web.api import bodies, error_models, judge_models, models, queue_bodies, queue_models, run_models
from touchstone.schemas.trace import ProductionTrace

FILTER = (
    *(Parameter(name, f"{what}; may be repeated") for name, what in (("suite", "a suite"), ("concern", "a concern"), ("batch", "a batch"))),
    Parameter("code", "a code of a finding or failure; of several, all must be there"),
    *(Parameter(name, f"{what}; may be repeated") for name, what in (("model", "a model"), ("kind", "a kind of event"))),
    Parameter("label", "a label; may be repeated", values=LABELS),
    Parameter("source", "where the event comes from; may be repeated", values=SOURCES),
    Parameter("severity", "the highest severity of the findings; may be repeated", values=SEVERITIES),
    Parameter("value", "a value that a result must have, alone or with a bound as in loss>=0.2; of several, all must be so"),
    Parameter("version", "version of the suite"),
    Parameter("digest", "digest of the configuration"),
    Parameter("feedback", "thumbs of users", values=("up", "down", "none")),
    Parameter("kept", "whether the archive has the case", values=("yes", "no")),
    Parameter("since", "scored at or after this moment (ISO 8601)"),
    Parameter("until", "scored before this moment (ISO 8601)"),
    Parameter("q", "part of an event id, a case id or a code"),
    Parameter(
        "sort", "the order of a list: newest first by default; overall and label begin with the worst. Counts and runs take it and ignore it", values=SORTS
    ),
)
CURSOR = Parameter("cursor", "`next` of the page before")
LIMIT = Parameter("limit", "at most so many", 1, PAGE_MAX)
BY = Parameter("by", "what to count by", values=FACETS)
RESULT = Parameter("result", "id of one of the results of the event; by default the newest")
DRY_RUN = Parameter("dry_run", "no: remove; else only list the places", values=("yes", "no"))
COMPARED = (
    Parameter("a", "the run before, as /api/runs names it"),
    Parameter("b", "the run now"),
    Parameter("from", "list only cases that had this label …", values=LABELS),
    Parameter("to", "… and have this one now", values=LABELS),
)
REVIEWER = Parameter("reviewer", "who reviews; by default the name of the token")
#: A case as a reviewer of a queue sees it: in a blind queue without scores and others' verdicts, until the reviewer has given one.
AS_REVIEWER = (Parameter("queue", "the queue in which the case is reviewed"), REVIEWER)
STATE = Parameter("state", "only cases in this state", values=STATES)
PLACE = Parameter("cursor", "`next` of the page before", 0, CASES_MAX)
VERSION = Parameter("version", "a version; by default the newest", 1, 999_999)
#: Every address needs the store, and a scope.
AWAY = (403, 503)
BODY = (413, 415, 422)

ADDRESSES = (
    Address("/api/cases", "Results of the whole history, in pages.", models.Cases, (*FILTER, LIMIT, CURSOR), refusals=AWAY),
    Address("/api/facets", "Counts of results by a property.", models.Facets, (*FILTER, BY), refusals=AWAY),
    Address("/api/cases/{id}", "A case by the id of its event, its trace or a result.", models.OneCase, AS_REVIEWER, refusals=(*AWAY, 404)),
    Address(
        "/api/cases/{id}", "Annotate a case, or set its feedback.", models.OneCase, method="patch", body=bodies.PatchBody,
        refusals=(*AWAY, *BODY, 404, 412, 428), headers=("If-Match",),
    ),
    Address("/api/cases/{id}/reading", "How a case reads beside one of its results.", models.Reading, (RESULT, *AS_REVIEWER), refusals=(*AWAY, 404)),
    Address("/api/cases/{id}/document", "The event as it was kept. Needs the scope text.", "application/json", AS_REVIEWER, refusals=(*AWAY, 404)),
    Address("/api/views", "The saved views.", models.Views, refusals=AWAY),
    Address("/api/views/{id}", "Save a view.", models.View, method="put", body=bodies.ViewBody, refusals=(*AWAY, *BODY, 409)),
    Address("/api/views/{id}", "Delete a saved view.", models.Views, method="delete", refusals=(*AWAY, 404)),
    Address(
        "/api/cases/{id}", "Remove a case everywhere, a trace with all its events. Needs the scope admin.", models.Forgotten, (DRY_RUN,), method="delete",
        refusals=(*AWAY, 404),
    ),
    Address("/api/traces", "The traces that the archive holds.", models.Traces, (LIMIT, CURSOR), refusals=AWAY),
    Address(
        "/api/traces", "Keep a trace. The same again is 200; other content under its traceId is 409.", models.Stored, method="post",
        body=ProductionTrace, refusals=(*AWAY, *BODY, 409, 410), done=(201, 200),
    ),
    Address("/api/traces/{id}", "A trace with what people say of it. Needs the scope text.", "application/json", refusals=(*AWAY, 404)),
    Address(
        "/api/traces/{id}", "Annotate a trace, or set its feedback.", models.OneCase, method="patch", body=bodies.PatchBody,
        refusals=(*AWAY, *BODY, 404, 412, 428), headers=("If-Match",),
    ),
    Address("/api/feedback", "Thumbs up or down, before or after the case is known.", models.Rated, method="post", body=bodies.FeedbackBody,
            refusals=(*AWAY, *BODY, 404)),
    Address("/api/search", "Search the texts of kept cases, step by step. Needs the scope text.", models.Found, method="post", body=bodies.SearchBody,
            refusals=(*AWAY, *BODY)),
    Address("/api/runs", "Runs of the history, latest first.", run_models.Runs, (*FILTER, Parameter("limit", "at most so many", 1, RUNS_MAX)), refusals=AWAY),
    Address("/api/judges", "Judges held against people: recalls, states, and corrected live failure rates.", judge_models.Judges, refusals=AWAY),
    Address("/api/compare", "Two runs side by side.", run_models.Compared, (*COMPARED, CURSOR, LIMIT), refusals=(*AWAY, 404)),
    Address("/api/errors", "Kinds of failure that reviewers found, with their frequencies. Notes need the scope text.", error_models.Errors,
            (Parameter("queue", "only annotations of this queue"),), refusals=AWAY),
    Address("/api/errors/coding", "Put failures into categories, or rename, merge and describe these.", error_models.Errors,
            method="post", body=error_models.CodingBody, refusals=(*AWAY, *BODY, 409)),
    Address("/api/queues", "The review queues.", queue_models.Queues, (REVIEWER,), refusals=AWAY),
    Address("/api/queues", "Make a queue of the results that there are now. Needs the scope admin.", queue_models.Queue, method="post",
            body=queue_bodies.QueueBody, refusals=(*AWAY, *BODY, 409), done=(201,)),
    Address("/api/queues/{id}", "A queue, its guideline, and how far its reviewers agree.", queue_models.OneQueue, (REVIEWER,), refusals=(*AWAY, 404)),
    Address("/api/queues/{id}/cases", "The cases of a queue, in the order of review.", queue_models.QueueCases, (REVIEWER, STATE, LIMIT, PLACE),
            refusals=(*AWAY, 404)),
    Address("/api/queues/{id}/next", "The next case for a reviewer, reserved, and the two after it.", queue_models.Turn, method="post",
            body=queue_bodies.NextBody, refusals=(*AWAY, *BODY, 404)),
    Address("/api/queues/{id}/cases/{event}", "Reserve, release or skip a case.", queue_models.QueueCase, method="post", body=queue_bodies.ActionBody,
            refusals=(*AWAY, *BODY, 404)),
    Address("/api/queues/{id}/disagreements", "Cases on which reviewers differ, side by side.", queue_models.Disagreements, (REVIEWER, LIMIT, PLACE),
            refusals=(*AWAY, 404)),
    Address("/api/queues/{id}/agreement", "How far each pair of reviewers agrees.", queue_models.Agreement, refusals=(*AWAY, 404)),
    Address("/api/queues/{id}/links", "A link that opens this queue for one reviewer. Needs the scope admin.", queue_models.Link, method="post",
            body=queue_bodies.LinkBody, refusals=(*AWAY, *BODY, 404), done=(201,)),
    Address("/api/queues/{id}/links", "Make all links to a queue useless. Needs the scope admin.", queue_models.Revoked, method="delete",
            refusals=(*AWAY, 404)),
    Address("/api/guidelines", "The newest version of each guideline.", queue_models.Guidelines, refusals=AWAY),
    Address("/api/guidelines/{id}", "The text of a guideline.", queue_models.Guideline, (VERSION,), refusals=(*AWAY, 404)),
    Address("/api/guidelines/{id}", "Add a version; the same text is the same version. Needs the scope admin.", queue_models.Guideline, method="put",
            body=queue_bodies.GuidelineBody, refusals=(*AWAY, *BODY, 409)),
    Address("/api/settings/review", "Tags and severities for reviewers.", queue_models.ReviewSettings, refusals=AWAY),
)  # fmt: skip
