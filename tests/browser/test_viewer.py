"""The page on files: it begins at the review, says that nothing is live, and opens a case."""

from pathlib import Path

from tests.browser.conftest import Open
from tests.ops.viewer.started import sample_traces, viewing


async def test_the_page_on_files_leads_to_the_review_and_opens_a_case(look: Open, tmp_path: Path) -> None:
    sample_traces(tmp_path / "traces", 10)
    with viewing("traces", cwd=tmp_path) as viewer:
        tab = await look(viewer.address)
        await tab.until("location.pathname === '/review'")
        await tab.until("document.querySelector('#state').textContent.includes('files, no live events')")
        assert await tab.page.is_hidden("#nav a[href^='/']:has-text('Overview')")
        await tab.until("!!document.querySelector('.review-choices a')")
        await tab.page.click(".review-choices a")
        await tab.until("document.querySelector('#view-review').textContent.includes('Prompt')")
        assert await tab.page.get_attribute("body", "data-state") == "files"
        await tab.page.goto(f"{viewer.address}/cases")
        await tab.until("document.querySelector('#view-cases').textContent.includes('sample-7-')")
        assert "stale" not in await tab.text("#state")
