"""Operators that change what a resource tells: codes, dates, quantities, references, extensions, narrative."""

from random import Random

from touchstone.ops.lab.agreement.written.operators import CHOICES, DATE, RELATIVE, TIME, VENDOR, Place, another, at_top, is_object, is_text, named, operator

CODES = ("status", "gender", "intent", "use", "mode", "clinicalStatus", "kind", "priority")
UCUM = "http://unitsofmeasure.org"


@operator(lambda p: is_text(p) and DATE.fullmatch(p.value) is not None)
def _date_with_slashes(place: Place, _: Random) -> None:
    year, month, day = place.value.split("-")
    place.holder[place.key] = f"{month}/{day}/{year}"


@operator(lambda p: is_text(p) and DATE.match(p.value) is not None)
def _day_of_no_calendar(place: Place, _: Random) -> None:
    place.holder[place.key] = place.value[:5] + "02-30" + place.value[10:]


@operator(lambda p: is_text(p) and TIME.fullmatch(p.value) is not None)
def _time_without_zone(place: Place, _: Random) -> None:
    place.holder[place.key] = place.value[:19]


@operator(lambda p: is_text(p) and DATE.fullmatch(p.value) is not None, keeps=True)
def _date_to_the_month(place: Place, _: Random) -> None:
    place.holder[place.key] = place.value[:7]


@operator(lambda p: is_text(p) and TIME.fullmatch(p.value) is not None, keeps=True)
def _time_in_another_zone(place: Place, _: Random) -> None:
    place.holder[place.key] = place.value[:19] + "+05:30"


@operator(lambda p: is_object(p) and isinstance(p.value.get("start"), str) and isinstance(p.value.get("end"), str))
def _period_reversed(place: Place, _: Random) -> None:
    place.value["start"], place.value["end"] = place.value["end"], place.value["start"]


@operator(named(*CODES))
def _code_in_capitals(place: Place, _: Random) -> None:
    place.holder[place.key] = place.value.upper()


@operator(named(*CODES))
def _code_invented(place: Place, draw: Random) -> None:
    place.holder[place.key] = another(draw, ["ongoing", "done", "normal", "F", "yes"], place.value)


@operator(lambda p: is_object(p) and "code" in p.value and "system" in p.value and "value" not in p.value)
def _code_of_another_system(place: Place, draw: Random) -> None:
    systems = ["http://hl7.org/fhir/observation-status", "http://terminology.hl7.org/CodeSystem/v3-ActCode", "http://loinc.org"]
    place.value["system"] = another(draw, systems, place.value["system"])


@operator(lambda p: is_object(p) and "code" in p.value and "system" in p.value and "value" not in p.value, keeps=True)
def _coding_without_system(place: Place, _: Random) -> None:
    del place.value["system"]


@operator(lambda p: is_object(p) and isinstance(p.value.get("coding"), list), keeps=True)
def _wording_beside_codings(place: Place, _: Random) -> None:
    place.value["text"] = "as the clinician worded it"


@operator(lambda p: is_object(p) and p.value.get("system") == UCUM and "code" in p.value)
def _unit_invented(place: Place, draw: Random) -> None:
    place.value["code"] = another(draw, ["furlongs", "mEq//L", "units/tablespoon"], place.value["code"])


@operator(lambda p: is_object(p) and p.value.get("system") == UCUM and "value" in p.value)
def _quantity_without_system(place: Place, _: Random) -> None:
    del place.value["system"]


@operator(lambda p: is_object(p) and p.value.get("system") in ("phone", "email", "fax"))
def _contact_without_system(place: Place, _: Random) -> None:
    del place.value["system"]


@operator(lambda p: is_object(p) and p.name == "identifier" and "system" in p.value and "use" not in p.value, keeps=True)
def _identifier_with_use(place: Place, _: Random) -> None:
    place.value["use"] = "official"


@operator(lambda p: is_text(p) and p.key == "reference" and RELATIVE.fullmatch(p.value) is not None)
def _reference_to_another_type(place: Place, draw: Random) -> None:
    place.holder["reference"] = another(draw, ["Substance", "Slot", "Schedule", "Account"], place.value.split("/")[0]) + "/" + place.value.split("/")[1]


@operator(lambda p: is_text(p) and p.key == "reference" and RELATIVE.fullmatch(p.value) is not None, keeps=True)
def _reference_made_absolute(place: Place, _: Random) -> None:
    place.holder["reference"] = "https://ehr.example.org/fhir/" + place.value


@operator(lambda p: is_text(p) and p.key == "reference")
def _reference_to_nothing_contained(place: Place, _: Random) -> None:
    place.holder["reference"] = "#nowhere"


@operator(lambda p: is_object(p) and isinstance(p.value.get("reference"), str))
def _reference_of_a_false_type(place: Place, _: Random) -> None:
    place.value["type"] = "SupplyDelivery"


@operator(lambda p: is_text(p) and p.key in ("system", "url", "instantiatesUri"))
def _space_in_an_address(place: Place, _: Random) -> None:
    place.holder[place.key] = place.value + " x"


@operator(lambda p: len(p.path) == 1 and p.key == "id")
def _id_with_a_space(place: Place, _: Random) -> None:
    place.holder["id"] = "my " + place.value


@operator(lambda p: at_top(p) and p.is_member and CHOICES.match(str(p.key)) is not None)
def _choice_made_twice(place: Place, _: Random) -> None:
    found = CHOICES.match(place.key)
    assert found is not None
    other = "String" if not place.key.endswith("String") else "Boolean"
    place.holder[found.group(1) + other] = "twice" if other == "String" else True


@operator(lambda p: at_top(p) and p.is_member and CHOICES.match(str(p.key)) is not None)
def _choice_of_another_type(place: Place, _: Random) -> None:
    found = CHOICES.match(place.key)
    assert found is not None
    del place.holder[place.key]
    place.holder[found.group(1) + "Ratio"] = {"numerator": {"value": 1}, "denominator": {"value": 2}}


@operator(is_object)
def _extension_without_value(place: Place, _: Random) -> None:
    place.value.setdefault("extension", []).append({"url": VENDOR["url"]})


@operator(is_object)
def _extension_with_value_and_parts(place: Place, _: Random) -> None:
    place.value.setdefault("extension", []).append({**VENDOR, "extension": [{"url": "part", "valueString": "x"}]})


@operator(is_object)
def _extension_with_a_relative_address(place: Place, _: Random) -> None:
    place.value.setdefault("extension", []).append({"url": "mark", "valueString": "marked"})


@operator(is_object, keeps=True)
def _extension_of_a_vendor(place: Place, _: Random) -> None:
    place.value.setdefault("extension", []).append(dict(VENDOR))


@operator(lambda p: p.is_member and is_text(p) and "_" + str(p.key) not in p.holder, keeps=True)
def _extension_on_a_primitive(place: Place, _: Random) -> None:
    place.holder["_" + place.key] = {"extension": [dict(VENDOR)]}


@operator(lambda p: p.is_member and is_text(p) and "_" + str(p.key) not in p.holder)
def _primitive_without_content(place: Place, _: Random) -> None:
    place.holder["_" + place.key] = {}


@operator(lambda p: len(p.path) == 1 and p.key == "resourceType")
def _contained_and_not_referenced(place: Place, _: Random) -> None:
    place.holder.setdefault("contained", []).append({"resourceType": "Basic", "id": "spare", "code": {"text": "spare"}})


@operator(lambda p: p.path == ("text", "div") and ' xmlns="http://www.w3.org/1999/xhtml"' in str(p.value))
def _narrative_without_namespace(place: Place, _: Random) -> None:
    place.holder["div"] = place.value.replace(' xmlns="http://www.w3.org/1999/xhtml"', "", 1)


@operator(lambda p: p.path == ("text", "div") and str(p.value).endswith("</div>"))
def _narrative_with_a_script(place: Place, _: Random) -> None:
    place.holder["div"] = place.value[:-6] + "<script>alert(1)</script></div>"


@operator(lambda p: p.path == ("text", "div") and str(p.value).endswith("</div>"))
def _narrative_not_closed(place: Place, _: Random) -> None:
    place.holder["div"] = place.value[:-6] + "<p>more</div>"


@operator(lambda p: p.path == ("text", "div") and str(p.value).endswith("</div>"), keeps=True)
def _narrative_with_a_list(place: Place, _: Random) -> None:
    place.holder["div"] = place.value[:-6] + "<ul><li>one</li><li>two &#160;</li></ul></div>"


@operator(lambda p: p.path == ("text", "status"))
def _narrative_of_an_invented_status(place: Place, _: Random) -> None:
    place.holder["status"] = "written"


@operator(lambda p: p.path == ("meta", "profile"), keeps=True)
def _profile_not_claimed(place: Place, _: Random) -> None:
    del place.holder["profile"]
    place.holder["versionId"] = "2"


@operator(lambda p: len(p.path) == 1 and p.key == "resourceType", keeps=True)
def _tagged(place: Place, _: Random) -> None:
    place.holder.setdefault("meta", {}).setdefault("tag", []).append({"system": "https://vendor.example.org/tags", "code": "reviewed"})
