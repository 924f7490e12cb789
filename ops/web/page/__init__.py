"""The Mission Control page: one file, and the policy that lets a browser run nothing else."""

import hashlib
import re
from base64 import b64encode
from pathlib import Path

INDEX = Path(__file__).with_name("index.html")
NOTHING = "'none'"
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


def load_page() -> tuple[str, str]:
    """The page, and its content security policy: only the scripts and styles in it run, and it talks to its own service alone."""
    page = INDEX.read_text(encoding="utf-8")
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, text in _INLINE.findall(page):
        hashes[kind].append(f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'")
    parts = [
        "default-src 'none'",
        f"script-src {' '.join(hashes['script']) or NOTHING}",
        f"style-src {' '.join(hashes['style']) or NOTHING}",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
    return page, "; ".join(parts)
