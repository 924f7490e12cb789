"""Headings among outline points: told from sentences by form, and covered through the facts nearest to them."""

import numpy as np
import pytest

from tests.scorers.summary.fakes import FACTS, TableEngines, case, gold, scorer
from touchstone.scorers.summary.components.headings import FACTS_NEAREST, heading_support, is_heading, nearest_facts, with_headings

#: Written before the rules; a third was not looked at until they were done.
HEADINGS = """
Antibiotic treatment
Conclusions
1. Introduction
Background and objectives
Left kidney
Cut in funding for schools
Set of measures
Proposed changes to the bill
Removing the old putty
Closing of the library
The company's defence
History of the present illness
Related work
Winners and losers
II. Methods
Section 3: Penalties
Discharge plan:
Effect on cramps
Reports and records
Lessons from the outage
Sources of funding
Early years in Bergen (1897–1921)
What-if scenarios
Amendments to the Clean Air Act
Two-step sign-in
Limited evidence for benefit
Increased risk of falls
Made-to-order furniture
- Root cause
Costs
Right to appeal
Need for further research
Found objects and other art
Broken promises
Reduction of tariffs on steel
Test results
Changing the settings
Unresolved questions about the bridge
Felt hats of the region
Paid leave
Adverse events
Follow-up visits
Saved games and settings
Lost luggage
A new beginning
Reading list
Hidden costs of the merger
Allergies:
Reasons for the delay
Building permits
Struck-off members
3) Eligibility criteria
The road ahead
Shortened waiting times
Preparing the frame
Dissenting views
Spread of the disease
Hit and run
Planned works in 2027
Fallen trees
Meeting of 12 March
Strategic goals
Run-off election
"""
SENTENCES = """
A ferry ran aground in fog.
The captain was away
Court holds ferry company liable
Owner stops the route and pays passengers
Two people hurt, nobody died
She studied geology at Lund.
The harbour authority denies responsibility
Prices rise by 3 per cent
It rejected holiday lets.
The board met
Researchers find no benefit
Investigators will report
He leaves his house to the library
Judge dissents from the ruling
The council approved the budget
Rents go up in July
Users must upgrade before May
The patient has improved
No deaths were reported
Police arrest a suspect
She became a professor
The bill repeals section 5
Scientists warn of flooding
Minister resigns after the vote
Sales fell sharply in spring
The fund is doubled
They could not agree
Company agrees to pay a fine
The river burst its banks
Doctors advise against surgery
The trial lasted 12 weeks
Parliament passes the law
Kroft's widow kept the workshop
The museum reopens in June
He wrote three novels
Apixaban was lowered
Engineers restored the service
The agency needs more staff
Most voters said no
It costs $9 a month
The bishop seized the pamphlets
The team won again
The mayor apologised
Workers go on strike
An almanac paid the debts
The disease spread quickly
Critics call the plan unfair
The strike ended on Friday
Congress votes to extend the programme
The new engine sends files in blocks
She refuses the medal
It rained for days
The probe reached Halcyon
Farmers welcome the subsidy
The court did not rule on costs
The glacier is retreating
Insurers can refuse claims
Tenants sue their landlord
The wheel broke
They drink the milk warm
Cramps became rarer
The union accepts the offer
A stone blocks the duct
"""
#: Of a further hand's reading: points whose verb has the form of a noun ("Costs rise"), and headings of nouns that are verbs elsewhere.
NOUN_LIKE_SENTENCES = """
Costs rise
Council split over budget
Troops withdraw
Rents fall in spring
Talks stall in Geneva
Fire kills three
Rescuers search the rubble
Pain spreads to the left arm
Bees vanish from orchards
Court overturns the ruling
Families flee
Glaciers shrink faster than forecast
Residents oppose the quarry
Drivers pay 4 euros a day
Nurse quit after a week
Schools stay closed until Monday
The pilot landed safely
Inflation falls
Voters back the new stadium
Tickets sell out
Patients wait longer
Bakery reopens
Owners sell
Dam overflows
Band splits
Users complain about battery life
Surgeon removes the stone
Farmers lose 40 per cent of the crop
Museum returns the bronzes
Witnesses contradict each other
"""
NOUN_LIKE_HEADINGS = """
Sales targets
Sports results
Repair costs
Emissions targets
Customs checks
Benefits claim form
Root causes
Bus stops
Budget plan 2030
Cancer stage at diagnosis
Court rulings since 2019
Heart attacks in women
Rise of the unions
Cost of living
Fall in birth rates
Behind the scenes
Vitamin A
Alternatives to the tunnel
Works alongside the river
Lost property
Found footage
Shut-down procedure
Admissions policy
Communications plan for 2025
Key dates
Water supply
Increase in fares
Complaints about noise
School closures
Return to work
Fraud claims against the bank
Press coverage
Housing for students
Stop signs
Hopes for the future
A worked example
"""
#: Written with them, and only counted while the rules were made.
UNREAD_SENTENCES = """
Repairs cost 7 million
Doctors left
Trial starts
Teachers strike over pay
Mayor quits
Storm destroys harbour wall
Symptoms return
Vaccine cuts hospital stays by a third
Engineers overhaul the pump
Bridge shut for repairs
Two die
Parliament dissolves
Choir sings at the reopening
Fever drops
Bus hit a wall
Tests show lead in the water
Volunteers plant 900 trees
Unemployment rises to 6 per cent
Archaeologists unearth a Roman bath
Company drops the charge
Wolves return to the valley
Minister faces questions
Insurer refuses
Ship sinks off Malta
Strike ends
Kidney function declines
Sensors detect a leak
Editors apologise
Owner vows to appeal
Deficit doubles
"""
UNREAD_HEADINGS = """
Savings plan
Blood tests
Flight delays
Arms control
Goods transport
Materials cost
Tax rises
Phase 2 trial results
Disease stage 4
Price rise in spring
Data sets
Search and rescue
Split in the party
Spread through the hospital
Life after the war
Half the budget
Plan B
Notes concerning the estate
What the survey measured
Left ventricle
Set menus
Cut flowers
Operations report
Next steps
Limitations
Wage increase for nurses
Visits to the clinic
Reasons for refusal
Gains and losses
Travel costs in 2024
Drug treatment at home
Recovery after surgery
Family history
Step-by-step guide
Public transport links
"""


@pytest.mark.parametrize("point", (HEADINGS + NOUN_LIKE_HEADINGS.lstrip()).strip().splitlines())
def test_a_point_without_a_verb_is_a_heading(point: str) -> None:
    assert is_heading(point)


@pytest.mark.parametrize("point", (SENTENCES + NOUN_LIKE_SENTENCES.lstrip()).strip().splitlines())
def test_a_point_with_a_verb_is_a_sentence(point: str) -> None:
    assert not is_heading(point)


def test_most_points_that_nobody_read_while_the_rules_were_made_are_told_apart() -> None:
    sentences, headings = UNREAD_SENTENCES.strip().splitlines(), UNREAD_HEADINGS.strip().splitlines()
    assert sum(not is_heading(point) for point in sentences) >= 25  # before these rules 5
    assert sum(map(is_heading, headings)) >= 33


@pytest.mark.parametrize("point", ["", "  ", "…", "The long road to a new bridge over the river near the old mill by the sea, and its end", "No verb in here."])
def test_nothing_a_long_point_and_a_short_sentence_are_no_headings(point: str) -> None:
    assert not is_heading(point)


#: Ten facts: the heading is nearest to the first three.
COSINES = np.asarray([[0.9, 0.8, 0.7, *[0.1] * 7]])


@pytest.mark.parametrize(("recalled", "support"), [((1, 1, 1), 1.0), ((0, 0, 0), 0.0), ((1, 0, 0), 1 / 3), ((1, 1, 0), 2 / 3)])
def test_a_heading_has_the_mean_recall_of_the_facts_nearest_to_it(recalled: tuple[int, ...], support: float) -> None:
    others = [1.0 - recalled[0]] * 7
    assert heading_support(["Side effects"], FACTS, [*recalled, *others], COSINES) == {0: pytest.approx(support)}
    assert nearest_facts(COSINES[0]) == [0, 1, 2]
    assert len(recalled) == FACTS_NEAREST


def test_a_sentence_is_asked_as_it_is() -> None:
    assert heading_support(["It had side effects."], FACTS, [1.0] * 10, COSINES) == {}
    assert heading_support(["Side effects"], [], [], np.zeros((1, 0))) == {}


def test_a_heading_lies_where_its_facts_are_stated() -> None:
    of_facts = np.zeros((10, 4))
    of_facts[:3, 2] = 0.9
    assert with_headings(np.zeros((1, 4)), of_facts, COSINES, [0])[0].argmax() == 2


HEADED = ("Beginning", "Middle", "End")
#: Vectors that put each heading beside three facts.
TABLE = {
    **{fact: tuple(float(axis == place // 4) for axis in range(3)) for place, fact in enumerate(FACTS)},
    **{head: tuple(float(axis == place) for axis in range(3)) for place, head in enumerate(HEADED)},
}


@pytest.mark.parametrize(
    ("said", "covered", "places"),
    [
        (FACTS, [0, 1, 2], [0, 4, 8]),
        (FACTS[:5], [0], [0]),
        (("Bread is baked.", "Rye is sown.", "Ovens are hot."), [], []),
        ((*FACTS[8:], *FACTS[:4]), [0, 2], [2, 0]),
    ],
)
async def test_headings_are_covered_through_their_facts_and_an_unrelated_text_covers_none(said: tuple[str, ...], covered: list[int], places: list[int]) -> None:
    def stated(premise: str, hypothesis: str) -> tuple[float, float]:
        return (0.9, 0.0) if hypothesis in FACTS and hypothesis in premise else (0.0, 0.1)

    card = await scorer(TableEngines(stated, TABLE)).score(case(" ".join(said), datum=gold(logical_outline=HEADED)))
    assert (card.details["flow"]["covered"], card.details["flow"]["places"]) == (covered, places)
