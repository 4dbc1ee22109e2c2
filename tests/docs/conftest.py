"""The generators of the documentation are imported from its folder, as MkDocs does."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "docs"))
