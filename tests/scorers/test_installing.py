"""The command that adds an extra is right for the way in which Touchstone was installed."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from touchstone.scorers import installing
from touchstone.scorers.installing import install_again, install_command, install_extras


@pytest.fixture
def from_where(monkeypatch: pytest.MonkeyPatch) -> Any:
    def set_to(origin: dict[str, Any] | None, prefix: str = "/usr/venv") -> None:
        written = None if origin is None else json.dumps(origin)
        monkeypatch.setattr(installing, "distribution", lambda _name: SimpleNamespace(read_text=lambda _file: written))
        monkeypatch.setattr(sys, "prefix", prefix)

    return set_to


def test_in_a_checkout_it_is_make_setup(from_where: Any) -> None:
    from_where({"url": "file:///home/me/my%20code", "dir_info": {"editable": True}}, "/home/me/my code/.venv")
    assert install_extras("judge") == "install the extra judge: make setup (in /home/me/my code)"
    assert install_again() == "install Touchstone again: make setup (in /home/me/my code)"


def test_a_checkout_in_another_environment_is_installed_into_that(from_where: Any) -> None:
    from_where({"url": "file:///home/me/touchstone", "dir_info": {"editable": True}})
    assert install_extras("summary", "nli-onnx") == "install the extras nli-onnx and summary: pip install -e '/home/me/touchstone[nli-onnx,summary]'"


def test_a_wheel_is_installed_again_with_the_extra(from_where: Any, tmp_path: Path) -> None:
    wheel = tmp_path / "touchstone_stream-0.1.0-py3-none-any.whl"
    from_where({"url": wheel.as_uri(), "archive_info": {}})
    assert install_command(["clinical"]) == "pip install 'touchstone_stream-0.1.0-py3-none-any.whl[clinical]'"  # it is not there any more
    wheel.touch()
    assert install_command(["clinical"]) == f"pip install '{wheel}[clinical]'"


def test_an_image_is_built_with_the_extra(from_where: Any) -> None:
    from_where({"url": "file:///tmp/dist/touchstone_stream-0.1.0-py3-none-any.whl", "archive_info": {}}, "/opt/touchstone")
    assert install_command(["nli"]).startswith("docker build --build-arg EXTRAS='nli' .")
    assert "python -m venv --without-pip /opt/touchstone" in (Path(__file__).parents[2] / "Dockerfile").read_text()


def test_from_a_package_index_it_is_the_distribution_s_name(from_where: Any) -> None:
    from_where(None)
    assert install_command(["nli"]) == "pip install 'touchstone-stream[nli]'"


def test_an_address_is_given_with_the_name(from_where: Any) -> None:
    from_where({"url": "https://wheels.example.org/touchstone_stream-0.1.0-py3-none-any.whl", "archive_info": {}})
    assert install_command(["nli"]) == "pip install 'touchstone-stream[nli] @ https://wheels.example.org/touchstone_stream-0.1.0-py3-none-any.whl'"


def test_no_message_and_no_page_tells_people_to_install_what_no_index_has() -> None:
    root = Path(__file__).parents[2]
    files = [
        root / "README.md",
        *(path for folder in ("docs", "touchstone") for path in (root / folder).rglob("*") if path.suffix in {".md", ".py", ".yml", ".sh"}),
    ]
    assert [
        str(path) for path in files if "install touchstone-stream" in (text := path.read_text(encoding="utf-8")) or "install 'touchstone-stream" in text
    ] == []
