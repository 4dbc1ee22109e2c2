import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from mggcn.data._planetoid import unpickle
from mggcn.errors import InputError


class _Attack:
    def __init__(self, call: object, *arguments: object):
        self.made = (call, arguments)

    def __reduce__(self) -> object:
        return self.made


def _write(path: Path, value: object) -> Path:
    path.write_bytes(pickle.dumps(value, protocol=2))
    return path


def test_a_pickle_that_calls_a_function_is_refused_before_it_runs(tmp_path: Path):
    victim = tmp_path / "victim"
    path = _write(tmp_path / "ind.cora.x", _Attack(Path.touch, victim))
    with pytest.raises(InputError, match=r"ind.cora.x: pickle names .*, which no data file needs"):
        unpickle(path)
    assert not victim.exists()


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "os.system"),
        (b"cbuiltins\neval\n(S'1'\ntR.", "builtins.eval"),
        (b"c__builtin__\neval\n(S'1'\ntR.", "__builtin__.eval"),
        (b"cnumpy\nload\n(S'x'\ntR.", "numpy.load"),
        (b"cnumpy.core.multiarray\nfromfile\n.", "numpy.core.multiarray.fromfile"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "os.system"),
    ],
)
def test_every_other_name_is_an_error(tmp_path: Path, code: bytes, name: str):
    (tmp_path / "f").write_bytes(code)
    with pytest.raises(InputError, match=f"f: pickle names {name},"):
        unpickle(tmp_path / "f")


def test_external_objects_are_refused(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"Pmemo\n.")
    with pytest.raises(InputError, match="external object 'memo'"):
        unpickle(tmp_path / "f")


@pytest.mark.parametrize("content", [b"", b"not a pickle", b"\x80\x02]q\x00(K\x01", b"\x80\x63."])
def test_a_damaged_pickle_is_one_clear_line(tmp_path: Path, content: bytes):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(InputError, match="f: not a readable pickle") as caught:
        unpickle(tmp_path / "f")
    assert "\n" not in str(caught.value)


def test_python_2_arrays_and_dictionaries_are_read(tmp_path: Path):
    def translated(value: object) -> bytes:
        return (
            pickle.dumps(value, protocol=2)
            .replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
            .replace(b"cbuiltins\n", b"c__builtin__\n")
        )

    (tmp_path / "y").write_bytes(translated(defaultdict(list, {3: [1, 2]})))
    assert unpickle(tmp_path / "y") == {3: [1, 2]}
    text = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n(I2\ntcnumpy\ndtype\n"
    text += b"(S'i4'\nI0\nI1\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntbI00\nS'\\x07\\x00\\x00\\x00\\xff\\x00\\x00\\x00'\ntb."
    (tmp_path / "a").write_bytes(text)
    assert unpickle(tmp_path / "a").tolist() == [7, 255]


def test_a_matrix_without_its_parts_is_refused(tmp_path: Path):
    (tmp_path / "x").write_bytes(b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n)\x81}U\x04dataK\x01sb.")
    with pytest.raises(InputError, match=r"x: not a readable pickle \('indices'\)"):
        unpickle(tmp_path / "x")


def test_the_real_files_hold_what_they_should(real):
    features = unpickle(real("planetoid/Cora/raw/ind.cora.allx"))
    assert isinstance(features, csr_array)
    assert features.shape == (1708, 1433)
    assert set(np.unique(features.data)) == {1.0}
    assert unpickle(real("planetoid/Cora/raw/ind.cora.ally")).shape == (1708, 7)
    assert unpickle(real("planetoid/Cora/raw/ind.cora.graph"))[0] == [633, 1862, 2582]
