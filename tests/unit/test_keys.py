import numpy as np

from mggcn.keys import MASK, Key, fold, folds, numbers_of
from tests.reference import below


def test_fold_is_splitmix64() -> None:
    """The published first outputs of SplitMix64 from the seed 1234567."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [fold(1234567, n) for n in range(4)] == expected


def test_below_covers_its_range_evenly() -> None:
    counts = np.bincount([below(fold(1, n), 7) for n in range(70_000)], minlength=7)
    assert counts.size == 7
    assert abs(counts - 10_000).max() < 400
    assert below(MASK, 7) == 6


def test_names_and_order_matter() -> None:
    key = Key.of(0)
    values = {key.fold("a", 1).value, key.fold("a", 2).value, key.fold("b", 1).value, key.fold(1, "a").value}
    assert len(values) == 4
    assert Key.of(1) != Key.of(0)
    assert key.fold("a").fold(1) == key.fold("a", 1)


def test_generators_repeat() -> None:
    key = Key.of(3).fold("order")
    assert np.array_equal(key.generator().permutation(50), key.generator().permutation(50))
    assert 0 <= key.torch_seed < 2**63


def test_many_folds_at_once() -> None:
    for value in (0, 5, MASK):
        assert folds(value, 50).tolist() == [fold(value, n) for n in range(50)]


def test_numbers_of_texts_depend_on_the_text_only() -> None:
    texts = ["", "a", "b", "ab", "0x" + "0" * 40, "0x" + "0" * 39 + "1", "12345678", "123456789"]
    numbers = numbers_of(np.array(texts, "S"))
    assert np.unique(numbers).size == len(texts)
    assert numbers.tolist() == [numbers_of(np.array([text], "S"))[0] for text in texts]
    assert np.array_equal(numbers, numbers_of(np.array([*texts, "x" * 99], "S"))[:-1])
    assert np.array_equal(numbers[::2], numbers_of(np.array(texts, "S")[::2]))
    assert numbers_of(np.array([b"address"])).tolist() == [
        np.uint64(fold(0, int.from_bytes(b"address", "little"))).astype(np.int64)
    ]
