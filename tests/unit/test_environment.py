import re

import numpy as np

from mggcn import environment


def test_peak_memory_sees_a_large_array_and_forgets_it() -> None:
    environment.reset_peak_memory()
    before = environment.peak_memory()
    block = np.ones(40 << 20, np.uint8)
    grown = environment.peak_memory()
    assert grown >= before + (30 << 20)
    assert block[-1] == 1


def test_the_description_names_versions_and_machine() -> None:
    found = environment.describe()
    assert found["packages"]["numpy"] == np.__version__
    assert found["cores"] >= 1
    assert found["commit"] is None or re.fullmatch(r"[0-9a-f]{40}\+?", found["commit"])
