from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scorers.clinical.fhir.resources import codes, patient, report
from touchstone.scorers.clinical.formats.fhir import is_valid
from touchstone.scorers.clinical.formats.fhir.narrative_fast_path import scan
from touchstone.scorers.clinical.formats.fhir.narrative_scan import Scan

NS = 'xmlns="http://www.w3.org/1999/xhtml"'


def problems(div: str) -> set[str]:
    return codes(patient(text={"status": "generated", "div": div}))


@pytest.mark.parametrize(
    "div",
    [
        f"<div {NS}>plain</div>",
        f"<div {NS}><p class='a' id='b'>x<br/>&lt;&#233;&#xe9;</p><a href='#b'>y</a><table border='1'><tr><td colspan='2'>z</td></tr></table></div>",
        f"<div {NS}><img src='a.png' alt='b'/></div>",
        f"<div {NS}><!-- comment --><b>a</b></div>",
    ],
)
def test_basic_html_is_allowed(div: str) -> None:
    assert is_valid(report(patient(text={"status": "generated", "div": div})))


@pytest.mark.parametrize(
    ("div", "code"),
    [
        ("<div>x</div>", "fhir.narrative.namespace"),
        (f"<p {NS}>x</p>", "fhir.narrative.root"),
        (f"<div {NS}>  <p/></div>", "fhir.invariants.txt-2"),
        (f"<div {NS}><script>alert(1)</script></div>", "fhir.invariants.txt-1"),
        (f"<div {NS}><p onclick='x()'>a</p></div>", "fhir.invariants.txt-1"),
        (f"<div {NS}><a href='javascript:x()'>a</a></div>", "fhir.narrative.active"),
        (f"<div {NS}><iframe src='http://a.example'>a</iframe></div>", "fhir.invariants.txt-1"),
        (f"<div {NS}><p>a</div>", "fhir.narrative.malformed"),
        (f"<div {NS}>a < b</div>", "fhir.narrative.malformed"),
        (f"<div {NS}>a &nbsp; b</div>", "fhir.narrative.entity"),
        (f"<div {NS}>a & b</div>", "fhir.narrative.entity"),
        (f"<div {NS}>a</div><div {NS}>b</div>", "fhir.narrative.malformed"),
        (f"<div {NS}><a href='#nowhere'>a</a></div>", "fhir.narrative.link"),
        ("<!DOCTYPE d [<!ENTITY a 'b'>]><div>&a;</div>", "fhir.narrative.doctype"),
    ],
)
def test_what_is_not_allowed_is_told(div: str, code: str) -> None:
    assert code in problems(div)


@pytest.mark.parametrize(
    "inner",
    [
        "<span><div>x</div></span>", "<h1><b><table><tr><td>x</td></tr></table></b></h1>", "<pre><ul><li>x</li></ul></pre>", "<b><i><b>x</b></i></b>",
        "<dd>x</dd>", "<dl><div><dt>x</dt></div></dl>", "<tr><td>x</td></tr>", "<table><thead><td>x</td></thead></table>", "<col/>x", "<hr>x</hr>",
        "<map name='m'><p>x</p></map>", "<table><tr><td><caption>x</caption></td></tr></table>",
    ],
)  # fmt: skip
def test_elements_stand_only_where_xhtml_has_a_place_for_them(inner: str) -> None:
    assert "fhir.narrative.structure" in problems(f"<div {NS}>{inner}</div>")


@pytest.mark.parametrize(
    "inner",
    [
        "<span><span>x</span></span>", "<dl><dt>x</dt><dd>y</dd></dl>", "<blockquote><p>x</p></blockquote>", "<p xml:space='preserve'>x</p>",
        "<table><caption>x</caption><colgroup><col/></colgroup><thead><tr><th>x</th></tr></thead><tbody><tr><td><div>y</div></td></tr></tbody></table>",
        "<ul><li><ul><li>x</li></ul></li></ul>", "<map name='m'><area shape='rect'/></map>x",
    ],
)  # fmt: skip
def test_elements_in_their_places_are_allowed(inner: str) -> None:
    assert problems(f"<div {NS}>{inner}</div>") == set()


@pytest.mark.parametrize("link", ["<a href='urn:oid:1.2.3'>x</a>", "<a href='cid:x'>x</a>", "<a href='http://a b'>x</a>", "<img src='a b.png' alt='x'/>"])
def test_a_link_leads_to_a_place(link: str) -> None:
    assert problems(f"<div {NS}>{link}</div>") == {"fhir.narrative.url"}


def test_an_image_in_the_text_itself_may_hold_blanks() -> None:
    assert problems(f"<div {NS}><img src='data: image/png;base64,aGVs bG8=' alt='x'/></div>") == set()


def test_an_xml_bomb_is_refused_and_nothing_is_expanded() -> None:
    bomb = "<!DOCTYPE x [<!ENTITY a '" + "a" * 100 + "'>" + "".join(f"<!ENTITY b{n} '&a;&a;&a;&a;'>" for n in range(50)) + f"]><div {NS}>&b49;</div>"
    assert problems(bomb) == {"fhir.narrative.doctype"}


@pytest.mark.parametrize("text", ["<" * 500_000, "<a " + '"' * 500_000, "<div " + 'a="b" ' * 100_000, "&" * 500_000, "<!--" * 200_000, "<p>" * 200_000])
def test_hostile_text_takes_time_in_proportion_to_its_length(text: str) -> None:
    started = time.process_time()
    scan(text)
    assert time.process_time() - started < 10


@given(st.text(alphabet="<>/&;\"'= adivp!-[]#:\n"))
def test_no_text_makes_the_scan_raise(text: str) -> None:
    scan(text)
    scan(f"<div {NS}>{text}</div>")


_TAGS = ["<div>", "</div>", "<p>", "</p>", "<br/>", "</a>", "</td>", "<img/>", "<script>", "<p", "text", "&lt;", "&nbsp;", "&", ">"]
_WITH_ATTRIBUTES = ('<a href="#x">', '<a name="x">', '<td class="a">', '<p onclick="a">', '<p title="a>b">', "<p id='y' id='y'>")
_PARTS = st.sampled_from([*_TAGS, *_WITH_ATTRIBUTES, " ", "<!-- a -->", "<![CDATA[a]]>", '<div xmlns="http://www.w3.org/1999/xhtml">'])


@given(st.lists(_PARTS, max_size=12))
def test_the_quick_scan_says_what_the_thorough_one_says(parts: list[str]) -> None:
    text = '<div xmlns="http://www.w3.org/1999/xhtml">' + "".join(parts) + "</div>"
    quick, thorough = scan(text), Scan(text)
    thorough.run()
    assert (quick.problems, quick.anchors, sorted(quick.links)) == (thorough.problems, thorough.anchors, sorted(thorough.links))


@pytest.mark.parametrize(
    "inside",
    [
        "<p>a<p>b</p></p>",
        "<p><span><ul><li>a</li></ul></span></p>",
        "<ul>a</ul>",
        "<ul><p>a</p></ul>",
        "<li>a</li>",
        "<td>a</td>",
        "<table><td>a</td></table>",
        "<table><tr>a</tr></table>",
        "<a href='x'><a href='y'>z</a></a>",
        "<br>a</br>",
    ],
)
def test_elements_stand_where_xhtml_has_a_place_for_them(inside: str) -> None:
    assert codes(patient(text={"status": "generated", "div": f"<div {NS}>{inside}</div>"})) == {"fhir.narrative.structure"}


def test_a_link_leads_somewhere_and_an_image_into_the_page_is_there() -> None:
    for inside, code in (("<a href=''>b</a>", "fhir.narrative.empty-link"), ("<img src='#none' alt='b'/>", "fhir.narrative.link")):
        assert codes(patient(text={"status": "generated", "div": f"<div {NS}>{inside}</div>"})) == {code}


def test_whitespace_written_as_numbers_is_no_text_in_a_list() -> None:
    assert codes(patient(text={"status": "generated", "div": f"<div {NS}><ol>\n&#9;<li>a</li>&#x0A;</ol></div>"})) == set()


def test_a_tag_that_was_seen_to_be_good_is_not_good_without_its_bracket() -> None:
    good = f"<div {NS}><p><b>x</b></p></div>"
    assert not scan(good).problems
    for bad in (good[:-1], good.replace("</b>", "</b"), good.replace("<b>", "<b")):
        assert scan(bad).problems


def messages(div: str) -> str:
    return "; ".join(finding.message for finding in report(patient(text={"status": "generated", "div": div})).findings)


@pytest.mark.parametrize(
    ("inside", "told"),
    [
        ("<script>x</script>", "the narrative holds <script>"),
        ("<p onclick='x'>a</p>", "<p> holds the attribute onclick"),
        ("<ul>x</ul>", "text directly in <ul>"),
        ("<p><b>x</p></b>", "the closing tag of <p> does not match the open one, <b>"),
        ("<p><table><tr><td>x</td></tr></table></p>", "<table> where XHTML has no place for it in <p>"),
        ("<a href='javascript:x'>a</a>", "<a> has a link that runs code"),
    ],
)
def test_a_finding_names_the_element(inside: str, told: str) -> None:
    assert told in messages(f"<div {NS}>{inside}</div>")


def test_a_name_that_html_does_not_have_is_not_shown() -> None:
    text = messages(f"<div {NS}><JaneDoe>x</JaneDoe><p JaneDoe='x'>a</p></div>")
    assert "the narrative holds an element, which" in text
    assert "JaneDoe" not in text


def test_an_image_may_be_one_that_the_resource_contains() -> None:
    text = {"status": "generated", "div": f"<div {NS}><img src='#pic' alt='b'/></div>"}
    picture = {"resourceType": "Binary", "id": "pic", "contentType": "image/png", "data": "aGVsbG8="}

    assert "fhir.narrative.link" not in codes(patient(text=text, contained=[picture]))
    assert "fhir.narrative.link" in codes(patient(text=text, contained=[{**picture, "id": "another"}]))
