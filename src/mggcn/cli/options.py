"""Options that several commands share."""

from typing import Annotated, Literal

from cyclopts import Parameter

Switch = Annotated[bool, Parameter(negative=())]
AsJson = Annotated[bool, Parameter(name="--json", negative=())]
Device = Literal["auto", "cpu", "cuda"]
Settings = Annotated[list[str] | None, Parameter(name="--set", consume_multiple=True, negative=())]
