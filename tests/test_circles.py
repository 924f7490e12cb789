"""No file needs itself: imports for the type checker alone count too, because a reader follows them all the same."""

from graphlib import TopologicalSorter

import grimp


def test_no_circle_of_imports_between_files() -> None:
    graph = grimp.build_graph("touchstone", exclude_type_checking_imports=False)
    # Raises CycleError, which names the files of a circle.
    TopologicalSorter({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}).prepare()
