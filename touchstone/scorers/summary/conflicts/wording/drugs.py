"""Names of drugs, by their endings and from a short list; brand names stand for what they contain."""

from __future__ import annotations

import re

_ENDINGS = re.compile(
    r"[a-z]{2,}(?:mab|cillin|pril|sartan|statin|olol|dipine|azole|prazole|tidine|mycin|micin|floxacin|cycline|xaban|gatran|parin|gliptin|gliflozin|glutide|formin|glitazone|zepam|zolam"
    r"|oxetine|triptyline|semide|thiazide|tinib|ciclib|parib|vudine|ciclovir|navir|tegravir|buvir|setron|triptan|azepam|caine|dronate|lukast|terol|tropium|curium|curonium|barbital|oxazole)"
)
_CEPHALOSPORIN = re.compile(r"(?:cef|ceph)[a-z]{4,}")
_NOT_DRUGS = frozenset({"cocaine", "cholesterol"})
#: One drug a line; the first name is the one that is compared.
_KNOWN = """paracetamol acetaminophen tylenol panadol
ibuprofen advil motrin nurofen
aspirin
warfarin coumadin
heparin
apixaban eliquis
rivaroxaban xarelto
enoxaparin lovenox clexane
clopidogrel plavix
ticagrelor brilinta
furosemide frusemide lasix
bumetanide bumex
spironolactone aldactone
digoxin lanoxin
amiodarone
metoprolol lopressor toprol
carvedilol coreg
atorvastatin lipitor
rosuvastatin crestor
simvastatin zocor
amlodipine norvasc
lisinopril zestril prinivil
losartan cozaar
valsartan diovan
hydralazine
nitroglycerin glyceryl
insulin
metformin glucophage
glipizide
gliclazide
empagliflozin jardiance
dapagliflozin farxiga forxiga
semaglutide ozempic wegovy
sitagliptin januvia
levothyroxine synthroid
prednisone
prednisolone
methylprednisolone
hydrocortisone
dexamethasone
albuterol salbutamol ventolin
tiotropium spiriva
montelukast singulair
epinephrine adrenaline
norepinephrine noradrenaline
morphine
fentanyl
oxycodone oxycontin
hydromorphone dilaudid
codeine
tramadol
naloxone narcan
ketamine
propofol
lorazepam ativan
diazepam valium
alprazolam xanax
clonazepam klonopin
zolpidem ambien
sertraline zoloft
fluoxetine prozac
citalopram celexa
escitalopram lexapro
bupropion wellbutrin
venlafaxine effexor
mirtazapine remeron
trazodone
quetiapine seroquel
olanzapine zyprexa
risperidone risperdal
haloperidol haldol
aripiprazole abilify
lithium
lamotrigine lamictal
levetiracetam keppra
phenytoin dilantin
valproate depakote
carbamazepine tegretol
gabapentin neurontin
pregabalin lyrica
omeprazole prilosec losec
pantoprazole protonix
famotidine pepcid
ondansetron zofran
metoclopramide reglan
vancomycin
linezolid
ceftriaxone rocephin
meropenem
ertapenem
piperacillin zosyn tazocin
nitrofurantoin macrobid
trimethoprim
doxycycline
azithromycin zithromax
ciprofloxacin cipro
levofloxacin levaquin
metronidazole flagyl
fluconazole diflucan
acyclovir aciclovir zovirax
oseltamivir tamiflu
remdesivir veklury
methotrexate
hydroxychloroquine plaquenil
azathioprine
mycophenolate cellcept
tacrolimus prograf
cyclosporine ciclosporin
infliximab remicade
adalimumab humira
rituximab rituxan
tamoxifen
letrozole
cisplatin
carboplatin
paclitaxel taxol
docetaxel
doxorubicin
cyclophosphamide
tamsulosin flomax
finasteride
sildenafil viagra
alendronate fosamax
allopurinol
colchicine
donepezil aricept
memantine
levodopa
baclofen"""
_BY_NAME = {name: line.split()[0] for line in _KNOWN.splitlines() for name in line.split()}


def drug(word: str) -> str | None:
    """The drug that a folded word names, None where it names none."""
    if word in _BY_NAME:
        return _BY_NAME[word]
    if len(word) >= 6 and word not in _NOT_DRUGS and (_ENDINGS.fullmatch(word) or _CEPHALOSPORIN.fullmatch(word)):
        return word
    return None
