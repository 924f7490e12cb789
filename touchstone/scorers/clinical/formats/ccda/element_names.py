"""Names and paths of elements. A path shows only names of CDA R2 and of HL7's extensions: any other may be text of the payload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from touchstone.scorers.clinical.formats.memory import Memory

CDA: Final = "urn:hl7-org:v3"
SDTC: Final = "urn:hl7-org:sdtc"
XSI: Final = "http://www.w3.org/2001/XMLSchema-instance"

XSI_TYPE: Final = f"{{{XSI}}}type"
TEMPLATE_ID: Final = f"{{{CDA}}}templateId"

_NAMES: Final = """
ClinicalDocument act additionalLocator addr administrationUnitCode administrativeGenderCode approachSiteCode asMaintainedEntity asOrganizationPartOf
asPatientRelationship assignedAuthor assignedAuthoringDevice assignedCustodian assignedEntity assignedPerson associatedEntity associatedPerson authenticator
author authorization awarenessCode birthTime birthplace br buildingNumberSuffix caption careOf censusTract center city code col colgroup comp component
componentOf confidentialityCode conjunctionCode consent consumable content copyTime country county criterion custodian dataEnterer deceasedInd deceasedTime
delimiter deliveryAddressLine deliveryInstallationArea deliveryInstallationQualifier deliveryInstallationType deliveryMode deliveryModeIdentifier denominator
derivationExpr desc digits direction dischargeDispositionCode documentationOf doseQuantity effectiveTime encompassingEncounter encounter encounterParticipant
entry entryRelationship ethnicGroupCode event expectedUseTime externalAct externalDocument externalObservation externalProcedure family footnote footnoteRef
functionCode given guardian guardianOrganization guardianPerson head healthCareFacility high houseNumber houseNumberNumeric id inFulfillmentOf increment
independentInd informant informationRecipient intendedRecipient interpretationCode item languageCode languageCommunication legalAuthenticator linkHtml list
location lotNumberText low maintainingPerson manufacturedLabeledDrug manufacturedMaterial manufacturedProduct manufacturerModelName manufacturerOrganization
maritalStatusCode maxDoseQuantity methodCode modeCode multipleBirthInd multipleBirthOrderNumber name nonXMLBody numerator observation observationMedia
observationRange offset order organizer origin originalText paragraph parentDocument participant participantRole patient patientRole performer period phase
place playingDevice playingEntity postBox postalCode precinct precondition preferenceInd prefix priorityCode priorityNumber procedure product
proficiencyLevelCode providerOrganization qualifier quantity raceCode rateQuantity realmCode receivedOrganization recordTarget reference referenceRange
regionOfInterest relatedDocument relatedEntity relatedPerson relatedSubject religiousAffiliationCode renderMultiMedia repeatNumber
representedCustodianOrganization representedOrganization responsibleParty routeCode scale scopingEntity scopingOrganization section seperatableInd
sequenceNumber serviceEvent serviceProviderOrganization setId signatureCode signatureText softwareName specimen specimenPlayingEntity specimenRole
standardDeviation standardIndustryClassCode state statusCode streetAddressLine streetName streetNameBase streetNameType structuredBody sub subject
substanceAdministration suffix sup supply table targetSiteCode tbody td telecom templateId text tfoot th thead thumbnail time title tr translation typeId
unitID unitType useablePeriod validTime value versionNumber wholeOrganization width identifiedBy alternateIdentification birthTime valueSet detailedRaceCode
actReference allFalse allTrue atLeastOneFalse atLeastOneTrue inFulfillmentOf1 onlyOneFalse onlyOneTrue precondition1 precondition2 criterion1 patientKind
"""
NAMES: Final = frozenset(_NAMES.split())


def _shown(tag: str) -> str:
    namespace, _, local = tag[1:].partition("}") if tag[:1] == "{" else ("", "", "")
    if local not in NAMES:
        return "?"
    return local if namespace == CDA else f"sdtc:{local}" if namespace == SDTC else "?"


_SHOWN: Final[Memory[str]] = Memory(_shown)


def name_of(element: object) -> str:
    """An element's name in a path: `sdtc:` before HL7's extensions, ? for a name that neither defines."""
    tag = getattr(element, "tag", None)
    return _SHOWN[tag] if isinstance(tag, str) else "?"


class ElementPaths:
    """Paths of one document's elements from the root, such as `ClinicalDocument/component/section[2]`.

    Indices begin at 1, and are shown where an element has siblings of its name. `before_numbering` is called before a parent's children are numbered.
    """

    def __init__(self, before_numbering: Callable[[], None] = lambda: None) -> None:
        self._paths: dict[Any, str] = {}
        self._steps: dict[Any, dict[Any, str]] = {}
        self._before_numbering = before_numbering

    def path(self, element: Any) -> str:
        """The path of an element."""
        known = self._paths.get(element)
        if known is None:
            parent = element.getparent()
            known = name_of(element) if parent is None else f"{self.path(parent)}/{self._steps_below(parent)[element]}"
            self._paths[element] = known
        return known

    def _steps_below(self, parent: Any) -> dict[Any, str]:
        """The last step of each child's path; of all at once, because counting from each child would cost the square of their number."""
        steps = self._steps.get(parent)
        if steps is None:
            self._before_numbering()
            named: dict[str, list[Any]] = {}
            for one in parent.iterchildren("*"):
                named.setdefault(one.tag, []).append(one)
            steps = self._steps[parent] = {}
            for tag, alike in named.items():
                if len(alike) == 1:
                    steps[alike[0]] = _SHOWN[tag]
                else:
                    steps |= {one: f"{_SHOWN[tag]}[{number}]" for number, one in enumerate(alike, start=1)}
        return steps
