"""``mggcn explore``: a local page that shows the nodes of a run."""

from pathlib import Path

from mggcn.cli.options import Switch


def explore(
    run: Path,
    /,
    *,
    port: int = 8642,
    root: Path | None = None,
    allow_import: Switch = False,
) -> None:
    """Show a run on a local page: search a node and see its scores, its picks and their influence.

    The page is served only to this machine and loads nothing from other machines. Ctrl-C stops it.

    Args:
        run: A run folder, as written by `mggcn train`.
        port: The port on 127.0.0.1; 0 takes any free port.
        root: The folder of data sets; default: $MGGCN_DATA, else a per-user cache.
        allow_import: Allow the run to import the Python code that it names.
    """
    from mggcn.errors import require
    from mggcn.explore import HOST, Explorer, build, listen
    from mggcn.runs import load_run

    for library in ("altair", "starlette", "uvicorn", "vl_convert"):
        require(library, "explore")
    with listen(port) as listener:
        trained = load_run(run, allow_import=allow_import, root=root)
        explorer = Explorer(trained, trained.training_data)
        address = f"http://{HOST}:{listener.getsockname()[1]}/"
        print(f"{run} is shown at {address} until Ctrl-C", flush=True)
        build(explorer).run(sockets=[listener])
