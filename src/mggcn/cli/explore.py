"""``mggcn explore``: a local page to look at the nodes of a run."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def explore(
    run: Path,
    /,
    *,
    port: int = 8642,
    root: Path | None = None,
    allow_import: Annotated[bool, Parameter(negative=())] = False,
    open: bool = False,  # noqa: A002
) -> None:
    """Show a run on a local page: look a node up and see its scores, its picks and what moved them.

    The page is served to this machine only and fetches nothing from elsewhere. Ctrl-C ends it.

    Args:
        run: A run folder, as `mggcn train` leaves it.
        port: Of the page's address on 127.0.0.1; 0 takes any free one.
        root: Where data sets are looked for; else $MGGCN_DATA, else a per-user cache.
        allow_import: Allow the run to name Python code of your own method, which is imported.
        open: Open the page in the browser.
    """
    import webbrowser

    from mggcn.explore import server
    from mggcn.explore.explorer import Explorer
    from mggcn.run import load_run

    server.require_starlette()
    with server.listen(port) as own:
        trained = load_run(run, allow_import=allow_import)
        explorer = Explorer.of(trained, trained.training_data(root))
        address = f"http://{server.HOST}:{own.getsockname()[1]}/"
        print(f"{run} is shown at {address} until Ctrl-C", flush=True)  # noqa: T201
        if open:
            webbrowser.open(address)
        server.serve(explorer, own)
