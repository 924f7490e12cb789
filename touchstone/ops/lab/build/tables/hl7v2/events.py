"""Which message structure a trigger event uses (HL7 table 0354), the newest structure first.

hl7apy carries the structures but not their events. A structure is taken where the version at hand has it; a structure named like the
event itself (`ADT_A04` exists in 2.1 and 2.2) always comes before these.
"""


def _span(letter: str, first: int, last: int) -> list[str]:
    return [f"{letter}{number:02d}" for number in range(first, last + 1)]


#: Structure → the events that use it.
STRUCTURES: dict[str, dict[str, list[str]]] = {
    "ADT": {
        "ADT_A01": ["A01", "A04", "A08", "A13"],
        "ADT_A05": ["A05", "A14", "A28", "A31"],
        "ADT_A06": ["A06", "A07"],
        "ADT_A09": ["A09", "A10", "A11"],
        "ADT_A12": ["A12"],
        "ADT_A15": ["A15"],
        "ADT_A21": ["A21", "A22", "A23", "A25", "A26", "A27", "A29", "A32", "A33"],
        "ADT_A30": ["A30", "A34", "A35", "A36", "A46", "A47", "A48", "A49"],
        "ADT_A39": ["A39", "A40", "A41", "A42"],
        "ADT_A43": ["A43", "A44"],
        "ADT_A50": ["A50", "A51"],
        "ADT_A52": ["A52", "A53"],
        "ADT_A54": ["A54", "A55"],
        "ADT_A61": ["A61", "A62"],
    },
    "BAR": {"BAR_P01": ["P01"], "BAR_P02": ["P02"]},
    "BPS": {"BPS_O29": ["O29"]},
    "CRM": {"CRM_C01": _span("C", 1, 8)},
    "CSU": {"CSU_C09": _span("C", 9, 12)},
    "LSU": {"LSU_U12": ["U12", "U13"]},
    "MDM": {"MDM_T01": ["T01", "T03", "T05", "T07", "T09", "T11"], "MDM_T02": ["T02", "T04", "T06", "T08", "T10"]},
    "MFK": {"MFK_M01": _span("M", 1, 17)},
    "MFQ": {"MFQ_M01": _span("M", 1, 6)},
    "MFR": {"MFR_M01": _span("M", 1, 7)},
    "MFN": {"MFN_M01": ["M01"]},
    "ORU": {"ORU_R01": ["R01", "R40"], "ORU_R30": ["R30", "R31", "R32"]},
    "PEX": {"PEX_P07": ["P07", "P08"]},
    "PGL": {"PGL_PC6": ["PC6", "PC7", "PC8"]},
    "PMU": {"PMU_B01": ["B01", "B02"], "PMU_B04": ["B04", "B05", "B06"]},
    "PPG": {"PPG_PCG": ["PCG", "PCH", "PCJ"]},
    "PPP": {"PPP_PCB": ["PCB", "PCC", "PCD"]},
    "PPR": {"PPR_PC1": ["PC1", "PC2", "PC3"]},
    "QBP": {"QBP_Q21": ["Q21", "Q22", "Q23", "Q24", "Q25"]},
    "QRY": {"QRY_PC4": ["PC4", "PC9", "PCE", "PCK"], "QRY_P04": ["P04"], "QRY_A19": ["A19"]},
    "RDE": {"RDE_O11": ["O11", "O25"]},
    "RRE": {"RRE_O12": ["O12", "O26"]},
    "REF": {"REF_I12": ["I12", "I13", "I14", "I15"]},
    "RRI": {"RRI_I12": ["I12", "I13", "I14", "I15"]},
    "RPA": {"RPA_I08": _span("I", 8, 11)},
    "RQA": {"RQA_I08": _span("I", 8, 11)},
    "RQC": {"RQC_I05": ["I05", "I06"]},
    "RCI": {"RCI_I05": ["I05"]},
    "RQI": {"RQI_I01": ["I01", "I02", "I03", "I07"]},
    "PIN": {"RQI_I01": ["I07"]},
    "RPI": {"RPI_I01": ["I01", "I04"]},
    "SIU": {"SIU_S12": [*_span("S", 12, 24), "S26", "S27"]},
    "SRM": {"SRM_S01": _span("S", 1, 11)},
    "SRR": {"SRR_S01": _span("S", 1, 11)},
    "TCU": {"TCU_U10": ["U10", "U11"]},
}
#: Before the structure split, these events used another one.
OLDER = {
    **dict.fromkeys(("ADT_A05", "ADT_A14", "ADT_A28", "ADT_A31"), "ADT_A01"),
    **dict.fromkeys(("ADT_A12", "ADT_A15"), "ADT_A09"),
    **{f"ADT_{event}": "ADT_A02" for event in STRUCTURES["ADT"]["ADT_A21"]},
}
EVENTS: dict[str, list[str]] = {}
for _message, _structures in STRUCTURES.items():
    for _structure, _events in _structures.items():
        for _event in _events:
            EVENTS[f"{_message}_{_event}"] = [_structure]
for _key, _structure in OLDER.items():
    EVENTS[_key].append(_structure)
