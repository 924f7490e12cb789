"""A system under test for `touchstone selftest`: reads a request from standard input, and writes its answer to standard output."""

import sys

ANSWERS = {"open": "It opens at nine.", "card": "At the desk: bring your passport.", "child": "Bring your child along, and sign for the card."}
asked = sys.stdin.read()
sys.stdout.write(next((answer for word, answer in ANSWERS.items() if word in asked), "I do not know."))
