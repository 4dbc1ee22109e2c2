"""The explorer's server for as long as a test needs it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from mggcn.explore import server
from mggcn.explore.explorer import Explorer


@contextmanager
def served(explorer: Explorer) -> Iterator[str]:
    """Serve on a free port and give the address."""
    with server.listen(0) as own:
        address = f"http://{server.HOST}:{own.getsockname()[1]}"
        running = server.build(explorer)
        thread = Thread(target=running.run, kwargs={"sockets": [own]})
        thread.start()
        try:
            while not running.started:
                time.sleep(0.01)
            yield address
        finally:
            running.should_exit = True
            thread.join()
