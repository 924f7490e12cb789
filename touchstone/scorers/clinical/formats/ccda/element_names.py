"""The names that a path may show: those of CDA R2's elements and of HL7's extensions of it. Any other may be text of the payload."""

from __future__ import annotations

from typing import Final

CDA: Final = "urn:hl7-org:v3"
SDTC: Final = "urn:hl7-org:sdtc"
XSI: Final = "http://www.w3.org/2001/XMLSchema-instance"
#: Prefixes by which this package's own XPath names them.
PREFIXES: Final = {"cda": CDA, "sdtc": SDTC, "xsi": XSI}
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


def name_of(element: object) -> str:
    """An element's name as a path shows it: `sdtc:` before HL7's extensions, ? for what neither defines."""
    tag = getattr(element, "tag", None)
    namespace, _, local = tag[1:].partition("}") if isinstance(tag, str) and tag[:1] == "{" else ("", "", "")
    if local not in NAMES:
        return "?"
    return local if namespace == CDA else f"sdtc:{local}" if namespace == SDTC else "?"
