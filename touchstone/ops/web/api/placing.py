"""Annotations that are written in a queue: what the queue says of them, and who may settle a case."""

from touchstone.ops.store.case_rows import CaseHistory
from touchstone.ops.web.api.blind import review_of
from touchstone.ops.web.api.bodies import AnnotationBody
from touchstone.ops.web.api.calls import Call, Refusal
from touchstone.ops.web.api.reviewers import reviewer_of
from touchstone.ops.web.api.sources import Sources


def placed(sources: Sources, call: Call, found: CaseHistory, given: AnnotationBody) -> AnnotationBody:
    """An annotation with what its queue says of it: pass, suite, guideline, arm. Raises `Refusal`.

    Without a queue there is no arm, since nobody drew the case; and only an admin may settle it.
    """
    if call.grant.queue and given.queue not in {None, call.grant.queue}:
        raise Refusal("annotations.queue: this link is for another queue; leave it out", 403)
    queue = given.queue or call.grant.queue
    if given.settled and not given.withdrawn and given.verdict is None:
        raise Refusal("annotations.settled: a case is settled with a verdict; give one", 422)
    if not queue:
        if given.settled and not call.grant.may("admin"):
            raise Refusal("annotations.settled: a case outside of a queue is settled with the scope admin", 403)
        return given.model_copy(update={"arm": None})
    reviewer = reviewer_of(call.grant, given.reviewer)
    review = review_of(sources, call, found.event_id, queue, reviewer)
    assert review is not None
    definition, review_pass = review.queue.definition, review.queue.review_pass
    if given.settled and not call.grant.may("admin"):
        last = next((one for one in reversed(found.annotations) if (one.reviewer, one.review_pass) == (reviewer, review_pass)), None)
        is_own = last is not None and last.settled
        if review.hides or not (is_own or review.case.state == "disagreed"):
            raise Refusal("annotations.settled: a case is settled once its reviewers disagree, by one who has given a verdict, or with the scope admin", 403)
    guideline = sources.get().guidelines.named(definition.guideline)
    set_here = {
        "reviewer": reviewer,
        "review_pass": review_pass,
        "queue": review.queue.name,
        "suite": definition.suite,
        "arm": review.case.arm,
        "guideline": f"{guideline.name}@{guideline.version}" if guideline is not None else None,
    }
    return given.model_copy(update=set_here)
