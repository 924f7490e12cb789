"""`python -m touchstone.ops.local.child …`: a `touchstone` command that ends with the program that started it.

A parent that is killed cannot stop its children, and a worker left behind would go on retrying a broker that has gone with
it. So the child looks after its parent itself.
"""

import os
import signal
import threading
import time

LOOK_S = 0.5
#: A graceful stop needs the broker, which ends with the parent too: this much patience, no more.
GRACE_S = 5.0


def follow(parent: int) -> None:
    """End this process once its parent is another one: first as SIGTERM would, then for good."""
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os._exit(1)


if __name__ == "__main__":
    # Read first: a parent that dies during the imports below must be noticed as well.
    threading.Thread(target=follow, args=(os.getppid(),), name="follow-parent", daemon=True).start()
    from touchstone.ops.cli import main

    main()
