"""The script of the charting library: bundled once for each of its versions, then kept in the user's cache."""

import contextlib
import json
from functools import cache
from importlib import metadata
from pathlib import Path

from mggcn._io import regular
from mggcn._io.files import sealed, unsealed, write_atomically
from mggcn.data import user_cache
from mggcn.experiments import _charts as charts

_EXPORTS = "window.vegaEmbed = vegaEmbed;"


@cache
def vega() -> str:
    """The script, which sets ``window.vegaEmbed``; to bundle it takes seconds."""
    import vl_convert

    version = ".".join(charts.require_altair().SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    path = user_cache() / f"vega-{version}-{metadata.version('vl-convert-python')}.json"
    kept = _read(path)
    if kept is not None:
        return kept
    bundle: str = vl_convert.javascript_bundle(_EXPORTS, vl_version=version)
    script = bundle.replace("</script", "<\\/script")
    with contextlib.suppress(OSError):  # a page needs no cache
        write_atomically(path, sealed(json.dumps({"script": script})))
    return script


def _read(path: Path) -> str | None:
    """The script in a file; None if there is none, or if it is damaged."""
    try:
        content, has_checksum = unsealed(regular.read(path))
        return str(json.loads(content)["script"]) if has_checksum else None
    except (OSError, ValueError):
        return None
