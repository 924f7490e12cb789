"""Java and Maven, played by scripts."""

from pathlib import Path


def fake_tool(folder: Path, name: str, script: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tool = folder / name
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)


def fake_jdk(folder: Path, version: str = "17.0.2", modules: str = "jdk.compiler@17") -> None:
    fake_tool(folder, "java", f"""if [ "$1" = --list-modules ]; then echo '{modules}'; else echo 'openjdk version "{version}"' >&2; fi""")
