"""Every link between the project's pages leads somewhere: to a file that is there, and to a heading in it."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for pattern in ("*.md", "docs/**/*.md", "touchstone/**/*.md") for path in ROOT.glob(pattern) if "node_modules" not in path.parts)
_FENCE = re.compile(r"^ *(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")


def lines_of(page: Path) -> Iterator[tuple[int, str]]:
    fence = ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        mark = _FENCE.match(line)
        if mark and (not fence or (line.strip().startswith(fence) and not line.strip().strip(fence[0]))):
            fence = "" if fence else mark.group(1)
        elif not fence:
            yield number, line


def links_of(page: Path) -> Iterator[tuple[int, str]]:
    """Where a page's links lead, with their lines; a link within inline code is none."""
    for number, line in lines_of(page):
        told = _CODE.sub(lambda found: "" if "](" in found.group() else found.group(), line)
        for target in [*_LINK.findall(told), *_REFERENCE.findall(told)]:
            yield number, target


def anchors_of(page: Path) -> set[str]:
    """The anchors that a page's headings have where such pages are shown (GitHub, GitLab)."""
    met: Counter[str] = Counter()
    found = set()
    for _, line in lines_of(page):
        if heading := _HEADING.match(line):
            text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
            name = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
            found.add(name if not met[name] else f"{name}-{met[name]}")
            met[name] += 1
        found |= set(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def dead_links(page: Path) -> Iterator[str]:
    for number, target in links_of(page):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        path, _, anchor = target.partition("#")
        there = page if not path else (page.parent / unquote(path)).resolve()
        if not there.exists():
            yield f"line {number}: {target}: no such file"
        elif not there.is_relative_to(ROOT):
            yield f"line {number}: {target}: outside of the project"
        elif anchor and there.suffix == ".md" and anchor not in anchors_of(there):
            yield f"line {number}: {target}: no such heading"


def test_the_pages_are_found() -> None:
    assert {ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "docs" / "commands.md"} <= set(PAGES)
    assert sum(1 for page in PAGES for _ in links_of(page)) > 200


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert list(dead_links(page)) == []


def test_a_link_that_leads_nowhere_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "other.md").write_text("# A `code` heading\n## Twice\n## Twice\n```\n# no heading\n```\n")
    page = tmp_path / "page.md"
    good = "[a](other.md) [b](other.md#a-code-heading) [c](other.md#twice-1) [d](https://example.org/x) `[e](nowhere.md)`\n"
    page.write_text(good + "```\n[f](nowhere.md)\n```\n[g](nowhere.md) [h](other.md#no-heading)\n[i](#none)\n")
    assert list(dead_links(page)) == ["line 5: nowhere.md: no such file", "line 5: other.md#no-heading: no such heading", "line 6: #none: no such heading"]
