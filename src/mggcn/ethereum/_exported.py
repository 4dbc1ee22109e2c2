"""The stages ``links`` and ``features`` from tables that the SQL script made in a database and the user exported."""

from collections.abc import Sequence

import pyarrow

from mggcn._io.locations import Location, Source
from mggcn._io.stages import Engine, Table, Types, check_types, stage_files
from mggcn.errors import InputError, prefix_errors
from mggcn.ethereum import _tables
from mggcn.ethereum._pipeline import OnStage, Tally
from mggcn.ethereum._sql import PREFIX
from mggcn.ethereum._table_files import TableFiles, expand, name_files, read_schema
from mggcn.ethereum._values import whole

KIND = "exported tables"


def read_tables(engine: Engine, paths: Sequence[Source], work: Location, on_stage: OnStage) -> Tally:
    """Write the sorted stages to ``work``; the tally only counts the transactions between two accounts.

    The Parquet files of a table have its name, or are in a folder of its name.
    """
    files = expand(paths)
    links = _read(engine, files, "links", _tables.LINKS)
    features = _read(engine, files, "features", _tables.FEATURES)
    _check_complete(engine, links, features)
    for name, table in (("links", _tables.sorted_links(links)), ("features", _tables.sorted_features(features))):
        on_stage(name)
        engine.write(name, table)
        check_types(name, stage_files(work, name), _tables.LINKS if name == "links" else _tables.FEATURES)
    pairs = links.filter(links.node != links.other)
    (total,) = engine.rows(pairs.agg(count=whole(pairs.out_count.sum().fill_null(0))))
    return Tally(total["count"], total["count"], {}, {}, (KIND,))


def _check_complete(engine: Engine, links: Table, features: Table) -> None:
    """Raise InputError unless the accounts are numbered without a gap and both tables hold the same ones."""
    accounts = features.agg(rows=features.count(), ids=features.id.nunique(), last=features.id.max().fill_null(-1))
    ends = links.agg(ids=links.node.nunique(), last=links.other.max().fill_null(-1))
    counts = [engine.rows(table.select(**{n: whole(table[n]) for n in table.columns}))[0] for table in (accounts, ends)]
    expected = counts[0]["rows"]
    if not expected or counts != [
        {"rows": expected, "ids": expected, "last": expected - 1},
        {"ids": expected, "last": expected - 1},
    ]:
        raise InputError(
            f"{PREFIX}features has {expected:,} accounts, {PREFIX}links has {counts[1]['ids']:,}; "
            "a part of the export is missing or there twice"
        )


def _read(engine: Engine, files: Sequence[Source], stage: str, types: Types) -> Table:
    """Return an exported table in the types of its stage; databases export other widths and decimals."""
    name = f"{PREFIX}{stage}"
    parts = tuple(file for file in files if file.name.startswith(name) or name in file.parent.name)
    if not parts:
        raise InputError(f"{name_files(files)}: no Parquet file of the table {name}")
    for part in parts:
        with prefix_errors(str(part)):
            if part.suffix.lower() not in (".parquet", ".pq"):
                raise InputError("exported tables are read as Parquet only")
            schema = read_schema(part)
            for column in types:
                if column not in schema.names:
                    raise InputError(f"column {column!r} is missing")
                if pyarrow.types.is_floating(schema.field(column).type):
                    raise InputError(f"column {column!r} holds floats, which are not exact")
    table = engine.read(TableFiles(parts, parts, "parquet", tuple(types)))
    return table.select(**{column: table[column].cast(kind) for column, kind in types.items()})
