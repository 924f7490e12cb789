"""The Mission Control page: one document made from the files beside this module, and a content security policy that allows nothing else."""

import hashlib
from base64 import b64encode
from pathlib import Path

FOLDER = Path(__file__).parent
INDEX = FOLDER / "index.html"
STYLES = ("page.css", "lists.css", "reading.css", "review.css")
#: In the order of their dependencies.
SCRIPTS = (
    "dom.js",
    "service.js",
    "router.js",
    "charts.js",
    "suites.js",
    "feed.js",
    "panel.js",
    "document_index.js",
    "code_search.js",
    "code_view.js",
    "reading_marks.js",
    "reading_points.js",
    "reading_sections.js",
    "reading.js",
    "filters.js",
    "text_search.js",
    "saved_views.js",
    "cases_list.js",
    "case_load.js",
    "case_parts.js",
    "sha256.js",
    "text_marks.js",
    "annotation_undo.js",
    "annotation_draft.js",
    "annotations.js",
    "case_view.js",
    "review_list.js",
    "review_queue.js",
    "review_home.js",
    "review_settle.js",
    "review.js",
    "topbar.js",
    "accounts.js",
    "error_kinds.js",
    "errors.js",
    "judges.js",
    "runs.js",
    "compare.js",
    "keys.js",
    "main.js",
)
#: Every address of the page; the script in it shows the view.
PAGES = ("/", "/cases", "/cases/{id}", "/review", "/review/{id}", "/errors", "/judges", "/runs", "/compare", "/accounts")


def load_page() -> tuple[str, str]:
    """The page, and its content security policy: only the script and the style in it run, and it talks to its own service alone."""
    style, script = (f"\n{''.join(FOLDER.joinpath(name).read_text(encoding='utf-8') for name in names)}" for names in (STYLES, SCRIPTS))
    page = INDEX.read_text(encoding="utf-8").replace("<style></style>", f"<style>{style}</style>").replace("<script></script>", f"<script>{script}</script>")
    parts = [
        "default-src 'none'",
        f"script-src {_hash(script)}",
        f"style-src {_hash(style)}",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
    return page, "; ".join(parts)


def _hash(text: str) -> str:
    """The policy's name of an inline script or style."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
