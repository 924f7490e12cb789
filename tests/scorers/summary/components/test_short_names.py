"""Surnames and short names of entities. The cases were written before the rules; every third one was not looked at until they were done."""

import pytest

from tests.scorers.summary.components.test_entities import _matched
from touchstone.scorers.summary.components.entities import Words, seek

MATCHES = [
    ("Jari Aalto", "Mr Aalto resigned.", "Jari Aalto resigned."),
    ("Jari Aalto", "The board thanked Aalto for his work.", "Jari Aalto was thanked."),
    ("Brookvale General Hospital", "She was taken to Brookvale for surgery.", "She was operated on at Brookvale General Hospital."),
    ("Dr Yolanda Ferris", "Dr. Ferris suspects cancer.", "Dr Yolanda Ferris suspects cancer."),
    ("Norrsund Lines", "Norrsund denies the charge.", "The owner, Norrsund Lines, denies it."),
    ("Ines Delacroix", "Delacroix broke her hip.", "Ines Delacroix broke her hip."),
    ("Tindle Software", "The update by Tindle is out.", "Tindle Software released it."),
    ("Peter van der Meer", "Prof van der Meer led the trial.", "Peter van der Meer led it."),
    ("Nadia Oyelaran", "The treasurer is now Ms Oyelaran.", "Nadia Oyelaran was elected."),
    ("Ashcombe College", "Exams at Ashcombe move to laptops.", "Ashcombe College moves its exams."),
    ("Owen Sallis", "Sallis's time was a personal best.", "Owen Sallis won."),
    ("Marlow Ferries", "The court held Marlow liable.", "Marlow Ferries is liable."),
    ("Karl Desrosiers", "When Desrosiers came in, he had pain.", "Karl Desrosiers had pain."),
    ("Harrow Lane Surgery", "Harrow Lane reviewed her drugs.", "Harrow Lane Surgery reviewed them."),
    ("Agnes Tolliver", "Mrs A. Tolliver is allergic.", "Mrs Agnes Tolliver is allergic."),
    ("Fennick Shipping", "Fennick stays on as sponsor.", "Fennick Shipping remains."),
    ("Captain Joren Halse", "Captain Halse was away.", "Captain Joren Halse was away."),
    ("José Martínez", "Martinez was acquitted.", "José Martínez was acquitted."),
    ("Rosalind Achebe", "Then Achebe opened the meeting.", "Rosalind Achebe presided."),
    ("St Brannoc Infirmary", "The scan at St Brannoc showed a mass.", "A scan at St Brannoc Infirmary."),
]
OTHERS = [
    ("Jari Aalto", "Maria Aalto resigned.", "Jari Aalto resigned."),
    ("Jari Aalto", "Mr Aaltonen resigned.", "Jari Aalto resigned."),
    ("Brookvale General Hospital", "The General spoke to the hospital.", "Brookvale General Hospital."),
    ("Brookvale General Hospital", "It rained in Brookvale.", "Brookvale General Hospital."),
    ("Jari Aalto", "He studied at Aalto University.", "Jari Aalto was thanked."),
    ("Jari Aalto", "Aalto resigned.", "Jari Aalto and his wife, Maria Aalto, resigned."),
    ("Tom Young", "Young people came.", "Tom Young came."),
    ("Clean Air Act", "The Act was passed.", "The Clean Air Act was passed."),
    ("Agnes Tolliver", "Mr Tolliver is allergic.", "Mrs Agnes Tolliver is allergic. Mrs Tolliver is old."),
    ("Royal Northern Society", "The Royal family came.", "The Royal Northern Society met."),
    ("Peter Amsel", "B. Amsel dissented.", "Peter Amsel presided."),
    ("Oslo University", "She lived in Oslo.", "She taught at Oslo University in Oslo."),
    ("Skarv Glacier", "The Glacier Express was late.", "The Skarv Glacier shrank."),
    ("Marlow Ferries", "Marlow Heights is a street.", "Marlow Ferries is liable."),
    ("Will May", "It may rain. May was wet.", "Will May spoke."),
    ("Block C", "Block the road.", "The roof of Block C."),
    ("Larkspur Sync 4.2", "Larkspur is a flower.", "Larkspur Sync 4.2 is out."),
    ("University of Bergen", "Bergen was cold.", "The University of Bergen closed."),
    ("Helen White", "The White House replied.", "Helen White replied."),
    ("National Health Service", "National pride rose.", "The National Health Service grew."),
]


@pytest.mark.parametrize(("entity", "generated", "gold"), MATCHES)
def test_a_surname_or_short_name_counts(entity: str, generated: str, gold: str) -> None:
    assert _matched(entity, generated, gold)


@pytest.mark.parametrize(("entity", "generated", "gold"), OTHERS)
def test_another_name_or_a_common_word_does_not(entity: str, generated: str, gold: str) -> None:
    assert not _matched(entity, generated, gold)


def test_two_entities_of_one_short_name_have_none() -> None:
    entities, gold = ("Jari Aalto", "Maria Aalto", "Kai Berg"), Words("Jari Aalto, Maria Aalto and Kai Berg came.")
    found = seek(entities, Words("Aalto came with Berg."), gold, 0.9)
    assert [bool(one.generated) for one in found] == [False, False, True]
