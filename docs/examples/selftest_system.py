"""A small system under test for `touchstone selftest`: it asks back where documents are to be organized, and answers everything else."""


def answer(task: dict[str, str]) -> dict[str, str] | str:
    """Answer a READ_INFO task; `reply` is there when the user has answered a question."""
    prompt = task["prompt"].lower()
    if "reply" in task:
        return {"status": "COMPLETE", "output": "Proposal: all guides directly under docs/, one file for each."}
    if "organiz" in prompt:
        return {"status": "AWAITING_RESPONSE", "output": "Who reads these documents, and do you prefer a flat or a nested structure?"}
    if "30 days" in prompt:
        return "No, both statements can be true."  # which is wrong
    if "3 lines" in prompt:
        return "It scores generated texts.\nIt reads them from Kafka.\nIt writes results back."
    return "The README names JSON and JSON lines: 'Files hold JSON arrays or JSON lines.'"
