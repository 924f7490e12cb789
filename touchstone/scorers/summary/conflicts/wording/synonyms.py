"""Words for the same, as far as rules about wording compare them."""

from __future__ import annotations

from touchstone.scorers.summary.lexical import stem

#: One group a line: the first stands for all.
_WRITTEN = """attribute ascribe
fine penalty
doctor physician clinician
medicine medication drug
firm company business
buy purchase
begin start commence initiate
stop discontinue cease halt
hurt injure wound injury
buyer purchaser
tell inform
repair fix mend
finish complete
build construct
ask request
answer reply respond
child kid
car automobile vehicle
worker employee staff
pay reimburse
ship vessel boat
house home
road street
job post position
town city
use used utilise utilize
try attempt
help assist
need require necessary needed
get obtain receive
allow permit admit
choose select
operation surgery
colour color
tumour tumor
centre center
labour labor
haemorrhage bleeding hemorrhage bleed
oedema edema swelling
anaemia anemia
diarrhoea diarrhea
agree consent
result outcome finding
participant subject volunteer
mostly mainly
yearly annually
big large
quick fast
speak talk
reporter journalist press
dividend payout
shareholder stockholder
goalkeeper keeper
lorry truck
collide crash collision
plane aircraft
jail prison
disease illness sickness
movie film
attorney lawyer solicitor
kill die death
vaccinate vaccination vaccine jab
kidney renal
diabetes diabetic
icy ice
inflame inflammation
toxic toxicity poisonous
metastasis metastases
dilate dilatation dilation
extend extension
close closure
compensate compensation
expose exposure
infect infection
treat treatment
remove removal
arrive arrival
disclose disclosure
attend attendance
degrade degradation
reproduce replicate
discover discovery
produce production
examine examination inspect inspection
fund finance
money cash
quit resign resignation
retire retirement
cheap inexpensive
error mistake
fire blaze
"""
#: Stem → the stem that stands for it.
SAME = {stem(word): stem(group.split()[0]) for group in _WRITTEN.splitlines() for word in group.split()}
