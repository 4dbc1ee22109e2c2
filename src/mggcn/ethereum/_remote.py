"""Files of a build at addresses such as ``s3://bucket/folder``.

Spark reads tables where they are. DuckDB, and what Python reads, gets copies beside the folder of the build.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyarrow import fs

from mggcn._io.locations import Location, Source, is_address, name_errors
from mggcn._io.temporary import temporary_folder
from mggcn.errors import InputError


@contextmanager
def table_files(names: Sequence[str | None], beside: Path, *, copied: bool) -> Iterator[list[Source | None]]:
    """Yield names as files and folders that an engine reads, ``copied`` as :func:`local_files` does or in place."""
    if copied:
        with local_files(names, beside) as paths:
            yield [*paths]
    else:
        yield [Location.of(name) if name is not None and is_address(name) else _path(name) for name in names]


@contextmanager
def local_files(names: Sequence[str | None], beside: Path) -> Iterator[list[Path | None]]:
    """Yield names as paths; files and folders at addresses are copied beside a folder and removed at the end."""
    if not any(name is not None and is_address(name) for name in names):
        yield [_path(name) for name in names]
        return
    with temporary_folder(beside) as folder:
        paths: list[Path | None] = []
        for number, name in enumerate(names):
            if name is not None and is_address(name):
                paths.append(_copy(Location.of(name), folder / str(number)))
            else:
                paths.append(_path(name))
        yield paths


def _path(name: str | None) -> Path | None:
    return None if name is None else Path(name)


def _copy(source: Location, folder: Path) -> Path:
    """Copy a file or folder into a new folder under its own name."""
    target = folder / source.name
    is_folder = source.is_dir()
    if not is_folder and not source.is_file():
        raise InputError(f"{source}: no such file")
    with name_errors(source.address):
        (target if is_folder else folder).mkdir(parents=True)
        there, here = source.system, fs.LocalFileSystem()
        fs.copy_files(source.path, str(target), source_filesystem=there, destination_filesystem=here)
    return target
