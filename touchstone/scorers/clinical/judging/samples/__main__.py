"""Writes the file of sample requests."""

from touchstone.scorers.clinical.judging.samples import REQUESTS, written

if __name__ == "__main__":
    REQUESTS.write_text(written(), encoding="utf-8")
