import json
import time

import pytest

from touchstone.scorers.summary.hard_fails.breaches import Told, breaches
from touchstone.scorers.summary.hard_fails.endings.whole import ends_whole
from touchstone.scorers.summary.hard_fails.generation import Generation, Unreadable, read_generation
from touchstone.scorers.summary.sentences import Span, split

WHOLE = [
    "He went home.",
    "Is he home?",
    "He is home!",
    'She said "he is home."',
    "She said “he is home.”",
    "(He is home.)",
    "He is home (since May).",
    "He is home.)",
    "He is home.**",
    "He is home.[3]",
    "He is home. [1, 2]",
    "He is home.¹²",
    "He took 5 mg b.i.d.",
    "He lives in the U.S.",
    "It ended. (Source: ministry)",
    "- first\n- oral potassium",
    "1. Take the pan\n2. Heat it",
    "a) the pan\nb) the lid",
    "• bisoprolol 2.5 mg",
    "He is home.\n```",
    "```\n- the pan\n```",
    "See https://example.org/a?b=c",
    "Write to ward@example.org",
    "| drug | dose |\n|---|---|\n| apixaban | 5 mg |",
    "彼は帰宅した。",
    "他回家了！",
    "वह घर गया।",
    "هل هو في البيت؟",
    "เขากลับบ้านแล้ว",
    "He is home 🎉",
    "He is home.  \n\n",
    "„Er ist zu Hause.“",
    "« Il est chez lui. »",
    "Plan:\n- Seen again on 4 May",
    "- Vitamin D\n- Vitamin A",
    "1. Plug it in\n2. Switch it on",
    "* What the risks are\n* Who to turn to",
    "- the wheels;\n- the brakes;",
    "1. bisoprolol\n   2.5 mg at night",
    "He is home.\n\n## What comes next",
    "He is home.\n\n**Follow-up**",
    "Fares fall in May.\n\nSources\n=======",
    "<summary>He is home</summary>",
    "<ul><li>the hull</li><li>Switch it on</li></ul>",
    '<drug name="bisoprolol" dose="2.5 mg"/>',
    "He is home. <b>Ward: 4B</b>",
    "drug\tdose\napixaban\t5 mg",
    "drug | dose\n--- | ---\napixaban | 5 mg",
    "what, when\nreview, May\nlamp, on",
    "| what | when |\n| review | on |",
    "Allergies: none\nFollow-up: 4 May",
    "He is home.\n\nFollow-up: cardiology clinic, 4 May",
    "Blood group: A",
    "He is home and well.\n\nYours sincerely,\nJane Osei\nConsultant Cardiologist",
    "The river runs\nThe river bends\nAnd all my days\nFlow to the sea",
    "Run this:\n\n```bash\nmake on\n```",
    '{"a": ["on"]}',
    "It was replaced by `while queue`",
    "All tests pass ✅",
    "He is home :-)",
    "He is home ❤️",
    "Send it to:\nLand Office\n12 Elm Street\nLeeds LS1 4AB",
    "Write to 12 Elm Street, Leeds LS1 4AB",
    "Call 0161 496 0000",
    "Eels live in streams (Lund, 2020)",
    "Eels live in streams [3, 7]",
    "He is home.\n\n[1] Lund A. Eels of the north",
    "Eels live in streams.\n\ndoi:10.1000/182",
    "- Things that he was told at the clinic to watch out for",
    "The lake lies at 1,204 m",
    "The rate of the tax is 12.5 %",
    "Its shares closed at $41.07, up 3%",
    "The works cost £1.2m",
    "The loan is held under code E-4012",
    "Fixed in v3.1.2",
    "See the tables in results.csv",
    "The ferry leaves at 17:40",
    'The last line reads: "If only I had known…"',
    "Una Brekke won in 1:24:08; Sara Dahl came in at 1:25:40",
    "Eleven turbines were approved, 14 to 3",
    "310 houses were damaged. Killed: 0",
    "The youngest is 3.",
    "He is home.\n\n*",
    "- places to stay\n- things to look out for\n- a town to start from",
    "They sold paint, rope, etc...",
    "The case was decided on 3 March.\n\nSmith v Jones [2019] EWCA Civ 114",
    "See you on Friday!\n\nxx Mum",
    "# Winter Timetable\n\n## Sundays\n\nNo service",
    "Council Approves Budget After Long Debate",
    "CLOSED UNTIL FURTHER NOTICE",
    "Rain, rain,\non the tin roof,\nand nobody\nto count it with",
    "1.1 Scope\n1.2 Terms\n1.3 Who the rules apply to",
    "AB – chase the surveyor\nCD – book the hall\nEF – find a speaker to follow on",
    "🥇 Kenya\n🥈 the team that nobody bet on",
]
CUT = [
    "He went",
    "His potassium fell to",
    "He was seen by Dr.",
    "He went home...",
    "He went home…",
    "He went home, ",
    "The drugs were:",
    "- bisoprolol\n- ramipril and",
    "- bisoprolol,",
    'She said "he is',
    "He went home. Then he (the",
    "He went home. The next day he was",
    "He is home (since May",
    "drugs, e.g.",
    "彼は帰宅し",
    "He went home. # Notes",
    "- The hull was painted.\n- The mast was replaced.\n- The sails were torn",
    "- The patient was",
    "- Hull painted.\n- Mast replaced.\n- Sails sewn by hand in",
    "- The deposit is paid back within 14 days of",
    "| city | cases |\n|---|---|\n| Braga |",
    "| city | cases |\n|---|---|",
    "1. Fill the pan\n2. Heat the",
    "## Plan\n\nHe will be seen on",
    "<summary>He was given 5",
    "<summary>He is home.</summ",
    "He was given <b>5</b>",
    "| drug | dose |\n|---|---|\n| apixaban | 5",
    "drug\tdose\napixaban\t5 mg\nrami",
    "Diagnosis: asthma\nPlan: He will be seen by the",
    "Conclusion: fares fall and trains",
    "He is home.\n\nThe patient",
    "This text is hard\nwrapped at forty columns\nand goes on and on",
    "Run this:\n\n```python\nclient.send",
    '{"a": "He is home.',
    "The vaccine was 91 percent effective, compared to 78 percent for",
    "The largest site (in the former depot on line B12",
    "Council Approves Budget After Long Debate With",
    "He is home.\n\nThe next visit",
    "AB – chase the surveyor\nCD – book the",
    "The cost rose to €400 and",
    "1. Rest.\n2. Drink.\n3.",
    "1. Rest.\n2. Drink.\n3",
    "- new track\n- two stops\n-",
    "He is home.\n\n# Plan\n\nRest.\n\n#",
    "- a crack in the wall\n- repairs in May\n- help from",
    "- a crack was found\n- the dam was lowered\n- repairs will",
    "The kit holds (a) a whistle; (b) a mirror; (c)",
]


@pytest.mark.parametrize("text", WHOLE)
def test_a_whole_text_is_whole(text: str) -> None:
    assert ends_whole(text)


@pytest.mark.parametrize("text", CUT)
def test_a_text_that_ends_mid_sentence_does_not(text: str) -> None:
    assert not ends_whole(text)


@pytest.mark.parametrize(
    ("text", "gold", "cut"),
    [
        ("The height is 3.", "It is 3.5 m high.", True),
        ("The height is about 3.", "It is 3.5 m high.", False),
        ("The youngest is 3.", "She has three children and walks 3.5 km.", False),
        ("The youngest child is 3.", "Her youngest child is 3. She walks 3.5 km.", False),
        ("He was treated with furosemide. He had been in bed 4.", "Furosemide was given, and potassium was 4.2 mmol/L.", False),
        ("It closes at 5 p.", "It closes at 5 p.m. on Monday.", True),
        ("Repairs cost 7.", "Repairs cost 7 million crowns.", True),
        ("Sales rose by 9 per cent in May and in June by 7.", "Sales rose by 7 per cent in June.", False),
        ("It runs through block 7.", "Repairs cost 7 million crowns.", False),
        ("- new track\n- two stops\n- replacement bu", "Buses run instead.", True),
        ("- new track\n- two stops\n- buses", "The bus runs instead.", False),
        ("- apixaban 5 mg\n- furosem", "He takes furosemide.", True),
        ("- apixaban 5 mg\n- bisoprolol 2.5", "He takes bisoprolol 2.5 mg.", True),
        ("- apixaban 5 mg\n- temperature 38.2", "He has a fever of 38.2 °C.", False),
        ("- a stove\n- gas for four", "Gas for four days and a stove are needed.", True),
        ("- a stove\n- a table for four", "A table for four, and a stove.", False),
        ("He takes metformin (850 mg each)", "He takes metformin (850 mg each) twice a day.", True),
        ("He takes metformin twice (850 mg each)", "He takes metformin twice (850 mg each).", False),
        ("They reached Camp 4.", "The wall is 4.5 m high.", False),
        ("The dam was lowered by four metres", "It was lowered by four metres.", False),
        ("The dam was lowered by four metres", "It was lowered by four metres in May.", True),
        ("The dam (lowered by four metres", "It was lowered by four metres.", True),
        ("- apixaban 5 mg\n- ramipril 5 mg\n- walk", "He is walking.", False),
    ],
)
def test_a_cut_shows_beside_the_gold(text: str, gold: str, cut: bool) -> None:
    assert bool(breaches(Generation(text), split(text), Told((gold,)))) is cut


@pytest.mark.parametrize(
    ("generated", "text"),
    [
        ('"He is home."', "He is home."),
        ('{"summary": "He is home.", "title": "Home"}', "He is home."),
        ('{"title": "Home", "points": ["one", {"b": "two", "a": 3}], "n": null}', "Home\none\ntwo"),
        ('```json\n{"summary": "He is home."}\n```', "He is home."),
        ('  ```\n["a", "b"]\n```  \n', "a\nb"),
        ("[]", ""),
        ("12", ""),
        ('{"summary": "He is home.", "n": ' + "9" * 5_000 + "}", "He is home."),
    ],
)
def test_structured_output_is_read_as_its_text(generated: str, text: str) -> None:
    assert read_generation(generated, True).text == text


@pytest.mark.parametrize(
    "generated",
    ['{"summary": "He is', "He is home.", "", "{'summary': 'x'}", '{"a": NaN}', "[" * 100_000, '```json\n{"a": "b"}\n``` and more', '{"a": 1} {"b": 2}'],
)
def test_what_is_no_json_is_unreadable_where_structure_was_requested(generated: str) -> None:
    with pytest.raises(Unreadable):
        read_generation(generated, True)


def test_what_lies_too_deep_is_left_out() -> None:
    deep: object = "deep"
    for _ in range(40):
        deep = [deep]
    assert read_generation(json.dumps(["near", deep]), True).text == "near"


def test_plain_text_loses_an_enclosing_fence_only() -> None:
    assert read_generation("```text\nHe is home.\n```", False).text == "He is home."
    assert read_generation("Run:\n```\nmake\n```", False).text == "Run:\n```\nmake\n```"


@pytest.mark.parametrize(
    "text",
    [
        "Customer: Could you help me with my bill?\nAgent: Of course! I see a double charge.\nAgent: Is there anything else I can help you with?",
        "**Ana:** Here is a summary of the plan.\n**Tom:** Let me know if you need anything.\n**Ana:** Thanks.",
        "Q: Would you like me to go on?\nA: Yes.",
    ],
)
def test_what_a_speaker_of_a_dialogue_says_is_content(text: str) -> None:
    assert not breaches(Generation(text), split(text))


@pytest.mark.parametrize(
    "text",
    [
        "Title: A storm\nSummary: The article reports on a storm.",
        "Assistant: Of course! Here is a summary.\nAssistant: Fares fall.",
        "Ana: Hello.\nTom: Hello.\nAna: Bye.\n\nThis conversation is about a greeting.",
    ],
)
def test_what_heads_or_follows_a_dialogue_is_no_speech(text: str) -> None:
    assert "meta_commentary" in {breach.rule for breach in breaches(Generation(text), split(text))}


def test_characters_that_nobody_sees_are_no_part_of_the_text() -> None:
    written = "She takes 30\u200b0\u2060 mg of clinda\u00admycin.\u200b He sleeps."
    assert read_generation(written, structured_output_requested=False).text == "She takes 300 mg of clindamycin. He sleeps."
    assert read_generation(json.dumps({"summary": written}), structured_output_requested=True).text == "She takes 300 mg of clindamycin. He sleeps."


def test_breaches_name_rule_and_sentence() -> None:
    text = "He was ill. This summary covers May. He went"
    found = breaches(Generation(text), split(text))
    assert [(breach.rule, breach.path) for breach in found] == [("meta_commentary", "generated.sentences[1]"), ("truncated", "generated.sentences[2]")]


def test_strings_of_a_structure_need_no_full_stop() -> None:
    text = "fracture of the hip\nbisoprolol"
    assert not breaches(Generation(text, leaves=True), split(text))
    assert [breach.rule for breach in breaches(Generation(text), split(text))] == ["truncated"]


@pytest.mark.parametrize("text", ["a@" * 30_000, "a" * 60_000, "¹" * 60_000 + "x", "a" + ")" * 60_000, "a" + "[1]" * 20_000, "```\n" + " " * 60_000 + "x"])
def test_a_hostile_end_costs_time_in_proportion_to_the_text(text: str) -> None:
    began = time.process_time()
    ends_whole(read_generation(text, structured_output_requested=False).text)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "text",
    [f"The bridge closed. {run * (60_000 // len(run))} It opened again." for run in (" ", "\n", " \n", "\t", "a ", "1,", "(", '"', "1", "- ", "a-")]
    + [f"- Rest well\n- Drink {run * (60_000 // len(run))} well" for run in ("\n", "1", "a", "1 ", "’", "- a\n")],
)
def test_hard_fails_beside_a_gold_cost_time_in_proportion_to_the_text(text: str) -> None:
    spans = [Span(0, len(text))]
    began = time.process_time()
    breaches(Generation(text), spans, Told(["Drink two litres.", text], text))
    assert time.process_time() - began < 5
