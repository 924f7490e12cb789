"""A history that answers the page's requests in place of the API's store: `await served_by(tab, History())`."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.browser.conftest import Tab

LABELS = ("Pass", "Pass", "Review", "Fail")
#: A facet, and the field of a listed case that has its value.
FIELDS = {
    "label": "label", "suite": "suite", "model": "model", "concern": "concern_id", "batch": "batch_id", "source": "source",
    "kind": "kind", "severity": "severity", "version": "suite_version",
}  # fmt: skip
#: As the service sorts: the worst first, and for a leading "-" the other way round.
WORST_FIRST = {"overall": lambda one: one["values"]["score"], "label": lambda one: -LABELS.index(one["label"]), "time": lambda one: one["at"]}


def listed(number: int, **told: Any) -> dict[str, Any]:
    """A case as `GET /api/cases` lists it; every fourth fails."""
    label = LABELS[number % 4]
    day = 1 + number % 9
    one: dict[str, Any] = {
        "event_id": f"e-{number}",
        "result_id": f"r-{number}",
        "case_id": f"c-{number}",
        "name": f"case-{number}",
        "kind": "safe",
        "suite": "one" if number % 3 else "two",
        "suite_version": "1.2",
        "label": label,
        "values": {"score": number / 1000, "loss": None},
        "codes": [] if label == "Pass" else [f"code_{number % 5}"],
        "findings_total": 0 if label == "Pass" else 1 + number % 3,
        "severity": None if label == "Pass" else "major" if label == "Fail" else "minor",
        "failures": [],
        "concern_id": "c-1",
        "batch_id": f"b-{number % 2}",
        "model": "model-b",
        "source": "eval",
        "at": f"2027-01-0{day}T10:00:00Z",
        "kept": label == "Fail",
        "feedback": "up" if number % 10 == 0 else None,
        "annotated": False,
    }
    return one | told


@dataclass
class History:
    """`asked`: requests as (method, path, query, body). `refuse`: a path → (status, line)."""

    cases: list[dict[str, Any]] = field(default_factory=list)
    views: dict[str, str] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)
    compared: dict[str, Any] = field(default_factory=dict)
    readings: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str], Any]] = field(default_factory=list)
    refuse: dict[str, tuple[int, str]] = field(default_factory=dict)

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        """The status and the JSON of one request."""
        self.asked.append((method, path, query, body))
        if path in self.refuse:
            status, line = self.refuse[path]
            return status, {"error": line}
        if path == "/api/cases":
            found, start, limit = self.chosen(query), int(query.get("cursor", "0")), int(query["limit"])
            following = str(start + limit) if start + limit < len(found) else None
            return 200, {"cases": found[start : start + limit], "next": following, "total": len(found)}
        if path == "/api/facets":
            return 200, self.facets(query)
        if path == "/api/search":
            start = int(body.get("cursor", "0"))
            part = self.chosen(body["filter"])[start : start + 40]
            hits = [one for one in part if body["text"] in one.get("text", "")]
            total, end = len(self.chosen(body["filter"])), start + len(part)
            return 200, {"cases": hits, "next": str(end) if end < total else None, "searched": end, "total": total, "unread": 0}
        if path.startswith("/api/views"):
            return self.view(method, unquote(path.removeprefix("/api/views").lstrip("/")), body)
        if path == "/api/runs":
            return 200, {"runs": [one for one in self.runs if query.get("suite", one["suite"]) == one["suite"] and query.get("label", "Pass") in one["labels"]]}
        if path == "/api/compare":
            return 200, self.compared
        if path.endswith("/reading") and query.get("result") in self.readings:
            return 200, self.readings[query["result"]]
        return 404, {"error": "nothing here"}

    def chosen(self, query: dict[str, str]) -> list[dict[str, Any]]:
        """The cases that a filter selects."""
        found = self.cases
        for name, key in FIELDS.items():
            if query.get(name):
                found = [one for one in found if one[key] == query[name]]
        if query.get("code"):
            found = [one for one in found if query["code"] in one["codes"]]
        if query.get("q"):
            found = [one for one in found if one["event_id"].startswith(query["q"]) or query["q"] in one["codes"]]
        found = [one for one in found if query.get("since", "") <= one["at"] and not query.get("until", "~") <= one["at"]]
        by = query.get("sort", "")
        key = WORST_FIRST.get(by.removeprefix("-"), lambda one: one["findings_total"])
        return sorted(found, key=key, reverse=by.startswith("-")) if by else found

    def facets(self, query: dict[str, str]) -> dict[str, Any]:
        """Counts by a property, the greatest first."""
        by, found = query["by"], self.chosen(query)

        def values(one: dict[str, Any]) -> list[str]:
            return one["codes"] if by == "code" else [one["at"][:10]] if by == "day" else [one[FIELDS[by]]] if one[FIELDS[by]] else []

        counts = Counter(value for one in found for value in values(one))
        labels = {value: dict(Counter(one["label"] for one in found if value in values(one))) for value in counts}
        return {"by": by, "values": [{"value": value, "count": count, "labels": labels[value]} for value, count in counts.most_common()], "total": len(found)}

    def view(self, method: str, name: str, body: Any) -> tuple[int, Any]:
        """Saved views: all, or one that is set or deleted."""
        if method == "GET":
            return 200, {"views": [{"name": name, "query": query, "at": "2027-01-01T00:00:00Z"} for name, query in sorted(self.views.items())]}
        if method == "PUT":
            self.views[name] = body["query"]
        else:
            del self.views[name]
        return 200, {"name": name, "query": self.views.get(name, ""), "at": "2027-01-01T00:00:00Z"}


async def served_by(tab: Tab, history: History) -> None:
    """Answer the requests of a tab below /api/ from a history."""

    async def fulfil(route: Any) -> None:
        parts = urlsplit(route.request.url)
        body = json.loads(route.request.post_data) if route.request.post_data else None
        status, answer = history.answer(route.request.method, parts.path, dict(parse_qsl(parts.query)), body)
        await route.fulfill(status=status, content_type="application/json", body=json.dumps(answer))

    await tab.page.route("**/api/**", fulfil)
