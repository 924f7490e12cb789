"""The elements and attributes that the readers know. Any other is named as not checked: it may state a rule."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from touchstone.scorers.clinical.formats.hl7v2.nist.xml_files import NAME_CHARS_MAX, local

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

#: Elements that describe a profile and state no rule, with all that is in them.
FREE: Final = frozenset({"MetaData", "Description", "Reference", "Authors", "Comment", "Comments", "UsageNote", "PreDef", "PostDef"})
_NAMES: Final = "ID Name Label Description Version Identifier UUID Comment Comments Author Title Status Date"
_ELEMENT: Final = "Usage Datatype MinLength MaxLength ConfLength Binding BindingStrength BindingLocation Hide ItemNo ConstantValue"
_TEST: Final = "Path NotPresentBehavior AtLeastOnce IgnoreCase Min Max Truncated"
_ROW: Final = "Usage Min Max"


def _table(text: str) -> dict[str, frozenset[str]]:
    pairs = (line.split(":", 1) for line in text.strip().splitlines())
    return {name.strip(): frozenset(f"{_NAMES} {attributes}".split()) for names, attributes in pairs for name in names.split()}


#: Element → the attributes that its reader knows, or that only describe.
ATTRIBUTES: Final = _table(f"""
ConformanceProfile: HL7Version SchemaVersion Type
ConformanceContext ValueSetBindingsContext ProfileSlicing CoConstraintContext Datatypes Segments Messages:
Message: Type Event StructID
Group: Usage Min Max
Segment: Ref Usage Min Max Path
Field: {_ELEMENT} Min Max
Component: {_ELEMENT}
Datatype DynamicMapping ByID ByName Predicates Constraints CoConstraints Condition Assertion ValueSetBindings SingleCodeBindings:
Mapping: Position Reference SecondReference
Case: Value SecondValue Datatype
Constraint: Tag Strength Classification
Predicate: Tag Target TrueUsage FalseUsage
PlainCoConstraint: KeyPath KeyValue IgnoreCase
PlainText: {_TEST} Text Value
Format: {_TEST} Regex
StringFormat: {_TEST} Format
StringList NumberList: {_TEST} CSV
SimpleValue: {_TEST} Operator Value Type
Presence SetID isNULL: Path
IZSetID: Parent Element
PathValue ComplexPathValue: Path1 Path2 Operator Path1Mode Path2Mode Strict Truncated IdenticalEquality NotPresentBehavior
SubContext: Path AtLeastOnce NotPresentBehavior MinOccurrence MaxOccurrence
AND OR XOR IMPLY NOT FORALL EXIST:
ValueSetBinding: Target BindingStrength
SingleCodeBinding: Target Code CodeSystem BindingStrength
Binding: BindingIdentifier
SimpleBindingLocation ComplexBindingLocation: CodeLocation CodeSystemLocation CodePath CodeSystemPath
ValueSetLibrary: ValueSetLibraryIdentifier OrganizationName ValueSetLibraryVersion DateCreated
ValueSetDefinitions: Group Order
ValueSetDefinition: BindingIdentifier DisplayClassifier Oid Stability Extensibility ContentDefinition
ExternalValueSetDefinition: BindingIdentifier URL Oid Stability Extensibility ContentDefinition
ValueElement: Value DisplayName CodeSystem CodeSystemVersion Usage CodePattern
ByMessage SimpleTable ConditionalTable CoConstraintGroupId Selectors Constraints:
Context SegmentRef: Path
CoConstraint: {_ROW}
CoConstraintGroup: {_ROW}
Primary: {_ROW}
PathRef: Path Priority
Code: Path Code CodeSystem
SegmentSlicing FieldSlicing SegmentContext FieldContext GroupContext:
AssertionSlicing OccurrenceSlicing: Position
Slice: Ref Occurrence
""")
#: Element → the children that its reader looks for, where it passes over others. Other readers count what they do not know themselves.
CHILDREN: Final = {
    name: frozenset(children.split())
    for name, children in {
        "ConformanceProfile": "Encodings Messages Segments Datatypes",
        "Datatypes": "Datatype",
        "Segments": "Segment",
        "Messages": "Message",
        "Datatype": "Component",
        "Segment": "Field DynamicMapping",
        "Field": "",
        "Component": "",
        "DynamicMapping": "Mapping",
        "Mapping": "Case",
        "Constraint": "Assertion",
        "Predicate": "Condition",
        "ValueSetBinding": "BindingLocations Bindings",
        "SingleCodeBinding": "BindingLocations",
        "ValueElement": "",
        "NoValidation": "BindingIdentifier",
        "SimpleTable": "CoConstraintGroupId CoConstraint CoConstraintGroup",
        "ConditionalTable": "Condition CoConstraintGroupId CoConstraint CoConstraintGroup",
        "CoConstraintGroup": "Primary CoConstraint",
        "CoConstraint": "Selectors Constraints Assertion",
        "Primary": "Selectors Constraints",
    }.items()
}
#: Roots below which `Datatype`, `Segment` and the like are contexts of rules, not definitions.
_CONTEXTS: Final = frozenset({"Datatype", "Segment"})


def note_unknown(roots: Iterable[_Element], unknown: Counter[str]) -> None:
    """Count the attributes, and the elements that no reader counts, which nothing here knows."""
    for root in roots:
        is_definition = local(root) == "ConformanceProfile"
        waiting = [root]
        while waiting:
            element = waiting.pop()
            name = local(element)
            known = ATTRIBUTES.get(name)
            for attribute in map(str, element.attrib) if known is not None else ():
                if not attribute.startswith("{") and known is not None and attribute not in known:
                    unknown[f"attribute {attribute[:NAME_CHARS_MAX]} of {name}"] += 1
            children = CHILDREN.get(name) if is_definition or name not in _CONTEXTS else None
            if is_definition and name == "Segment" and element.getparent() is not None and local(element.getparent()) != "Segments":
                children = frozenset()
            for child in element:
                below = local(child)
                if below in FREE:
                    continue
                if children is not None and below not in children:
                    unknown[f"element {below[:NAME_CHARS_MAX]} in {name}"] += 1
                else:
                    waiting.append(child)
