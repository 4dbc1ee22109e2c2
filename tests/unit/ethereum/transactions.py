"""Small tables of transactions for tests, and what the stages make of them."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from mggcn._io.locations import Location
from mggcn.ethereum import _pipeline as pipeline
from mggcn.ethereum._build_files import BuildInputs
from mggcn.ethereum._engines import open_engine, stage_files
from mggcn.ethereum._pipeline import RuleCounts

ETH = 10**18
Row = dict[str, Any]


def address(number: int) -> str:
    return f"0x{number:040x}"


A, B, C, D = (address(number) for number in (0xA, 0xB, 0xC, 0xD))


def transaction(number: int, source: Any, target: Any, value: Any = ETH, **more: Any) -> Row:
    """A row in BigQuery's columns: it succeeded, and cost 21,000 gas at 10 wei."""
    plain = {
        "hash": f"0x{number:064x}",
        "block_number": number,
        "block_timestamp": 1_500_000_000 + number,
        "from_address": source,
        "to_address": target,
        "value": str(value) if value is not None else None,
        "receipt_status": 1,
        "receipt_gas_used": 21_000,
        "receipt_contract_address": None,
        "gas_price": 10,
    }
    return plain | more


FEE = 210_000


def write(path: Path, rows: Sequence[Row], schema: Any = None) -> Path:
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    parquet.write_table(pa.table(columns, schema=schema), path)
    return path


def stages(work: Path, *files: Path, engine: str = "duckdb", **options: Any) -> tuple[RuleCounts, list[Row], list[Row]]:
    """The tally, accounts and links of files, of which all rows may be dropped; exact numbers are Python's integers."""
    work.mkdir()
    folder = Location.of(work)
    with open_engine(engine, folder, "1GB") as running:
        tally = pipeline.run(running, BuildInputs(files, **{"max_dropped": 1} | options), lambda _: None)
    accounts, links = (
        [_integers(row) for file in stage_files(folder, stage) for row in parquet.read_table(file.path).to_pylist()]
        for stage in ("features", "links")
    )
    return tally, accounts, links


def _integers(row: Row) -> Row:
    return {name: int(value) if isinstance(value, Decimal) else value for name, value in row.items()}


def counts(tally: RuleCounts) -> dict[str, int]:
    return {rule: count for rule, count in (tally.dropped | tally.changed).items() if count}
