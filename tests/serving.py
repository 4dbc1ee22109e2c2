"""The explorer's server for as long as a test needs it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from mggcn.explore import _server as server
from mggcn.explore._explorer import Explorer


@contextmanager
def served(explorer: Explorer, **limits: int) -> Iterator[str]:
    """Serve on a free port and yield the address."""
    with server.listen(0) as listener:
        address = f"http://{server.HOST}:{listener.getsockname()[1]}"
        running = server.build(explorer, **limits)
        thread = Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not running.started:
                time.sleep(0.01)
            yield address
        finally:
            running.should_exit = True
            thread.join()
