"""Ends of a line that need no full stop: citations, addresses, telephone numbers, quantities, codes, pictographs."""

import re
import unicodedata

from touchstone.scorers.summary.hard_fails.endings.words import TERMINAL

_OPENED_BY = {")": "(", "]": "[", "}": "{", "）": "("}
#: A citation in brackets, a footnote's mark, or the number of a paper: ends of a finished sentence or of a reference.
CITATION = re.compile(
    r"(?:\([^()]{0,80}\b(?:1[5-9]|20)\d\d[a-z]?(?:,? p+\. ?\d[\d–-]*)?\)"
    r"|\[\^?[\w,;\s–-]{1,40}\]|(?:doi|pmid|isbn|pmc|issn|arxiv)[:\s]\s*\S+|[\u00b9\u00b2\u00b3\u2070-\u2079]+)$",
    re.IGNORECASE,
)
#: Units that are written after a number; one letter alone only after a blank.
_UNIT = (
    r"(?:%|‰|°[CFK]?|km/h|mph|m/s|km²|[kmcµn]?m[²³]?|ha|[kmµn]?g|mcg|[mµdc]?[lL]|mm ?Hg|mmol/L|mol/L|[mµn]?g/[md]?[lL]|[mg]/kg|mg/kg|bpm|kcal"
    r"|kJ|kWh?|[MG]W|[kMGT]i?B"
    r"|[kMG]?Hz|[kMh]?Pa|k?V|m?A|W|hp|dB|min|hrs?|ms|a\.?m|p\.?m|BC|AD|CE|USD|EUR|GBP|lbs?|oz|ft|in|€|£|\$)"
)
_NUMBER = r"(?<![\w.,])[-+−±~<>≤≥]?\d+(?:[.,:]\d+)*(?:\s?[x×–/-]\s?\d+(?:[.,]\d+)?)*"
_QUANTITY = re.compile(rf"{_NUMBER}\s?{_UNIT}$|[€$£¥]\s?\d[\d,]*(?:\.\d+)?\s?(?:m|bn|k|tn|million|billion|trillion)$|[€$£¥]\s?\d[\d,]*\.\d\d$")
#: Codes have capitals and digits; then versions, dates and times, tags, files, sites.
_CODE = re.compile(
    r"(?:^|[\s(#])(?:(?=[\w/-]*\d)(?=[\w/-]*[A-Z])[A-Z0-9][A-Z0-9]*(?:[/_.-][A-Z0-9]+)*#?|\d{3,}#|#\d+|v\d+(?:\.\d+)+|\d+\.\d+\.\d+(?:-[\w.]+)?"
    r"|\d{4}-\d\d-\d\d"
    r"|\d?\d:\d\d(?::\d\d)?|\d\d\.\d\d|[#@]\w[\w.]+|[\w/.-]+\.(?:py|md|txt|csv|json|pdf|docx?|xlsx?|ya?ml|toml|html?|js|ts|sh|log|zip|gz|png|jpg)"
    r"|(?:[\w-]+\.)+(?:com|org|net|gov|edu|io|info|uk|de|fr|eu)(?:/\S*)?)$"
)
#: A vote or a score behind a comma.
SCORE = re.compile(r",\s\d+(?:\s?[–-]\s?|\sto\s)\d+$")
#: A remark of some words in brackets closes a line as a full stop does: a text that breaks off hardly ever does so just there.
REMARK = re.compile(r"\((?=[^()]*\s)[^()]{5,120}\)$")
EMOTICON = re.compile(r"(?:^|\s)(?:[:;=8xX][-o^']?[)(\]DPp3/|]|<3|\^_?\^)$")
TELEPHONE = re.compile(r"(?:^|[\s:])\+?\(?\d[\d ()./-]{6,}\d$")
POSTCODE = re.compile(r"\b(?:[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]{2} \d{5}(?:-\d{4})?|\d{5} [A-Z][a-z]+|[A-Z]\d[A-Z] \d[A-Z]\d)$")
NOTE = re.compile(r"\s*(?:\[\^?\w{1,10}\]:?|\(\d{1,3}\)|[\u00b9\u00b2\u00b3\u2070-\u2079]+|\*{1,3}|†|‡)\s*[A-Z]")
_URL = re.compile(r"(?:https?://|www\.)\S", re.IGNORECASE)
_MAIL_HOST = re.compile(r"[^\s@]+\.\w+")
INLINE_CODE = re.compile(r"(?<!`)`[^`\n]+`$")


def ends_with_value(stripped: str) -> bool:
    """True if a line ends with a quantity, a code, a version, a date or a name of a file, outside brackets that are open."""
    if stripped.count("(") > stripped.count(")"):
        return False
    return _QUANTITY.search(stripped) is not None or _CODE.search(stripped) is not None


def ends_with_address(stripped: str) -> bool:
    """True if the last word is an address on the web or of a mailbox."""
    last = stripped.rsplit(maxsplit=1)[-1:]
    if not last:
        return False
    mailbox, _, host = last[0].rpartition("@")
    return _URL.search(last[0]) is not None or (bool(mailbox) and _MAIL_HOST.fullmatch(host) is not None)


def is_symbol(bare: str) -> bool:
    """True if a text ends with a pictograph, which many writers put for a full stop."""
    last = bare.rstrip("\ufe0e\ufe0f\u200d")[-1:]
    return bool(last) and ord(last) >= 0x2300 and unicodedata.category(last) in {"So", "Sk"}


def remark_after_stop(text: str) -> bool:
    """True if a text ends with brackets around a remark of their own: "It ended. (Source: WHO)"."""
    bare = text.rstrip()
    opening = _OPENED_BY.get(bare[-1:])
    if opening is None:
        return False
    before = bare[: bare.rfind(opening)] if opening in bare else bare
    before = before.rstrip()
    return before != bare and (not before or before[-1] in TERMINAL)
