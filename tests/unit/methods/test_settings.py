import pytest

from mggcn import methods
from mggcn.errors import InputError
from mggcn.methods import settings
from mggcn.methods.mg_gcn import MixGrained
from mggcn.runs import resolve
from mggcn.training._training import Training


def test_text_becomes_typed() -> None:
    method = settings.build(
        MixGrained, {"picks": "7", "dropout": "0.5", "fine_self": "no", "redraw": "once", "layers": 3}
    )
    assert method == MixGrained(picks=7, dropout=0.5, fine_self=False, redraw="once", layers=3)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (MixGrained, {"picks": "many"}, "picks: 'many' is not a whole number"),
        (MixGrained, {"picks": 2.5}, "picks: 2.5 is not a whole number"),
        (MixGrained, {"picks": True}, "picks: True is not a whole number"),
        (MixGrained, {"picks": "0"}, "picks: 0 is less than 1"),
        (MixGrained, {"layers": -1}, "layers: -1 is less than 1"),
        (MixGrained, {"picks": 10**9 + 1}, "picks: 1000000001 is more than 1,000,000,000"),
        (Training, {"epochs": 10**20}, "epochs: 100000000000000000000 is more than 1,000,000,000"),
        (Training, {"threads": 10**20}, "threads: 100000000000000000000 is more than 1,000,000,000"),
        (MixGrained, {"dropout": "1"}, "dropout: 1.0 is not in"),
        (MixGrained, {"dropout": []}, r"dropout: \[\] is not a number"),
        (MixGrained, {"fine_self": "perhaps"}, "fine_self: 'perhaps' is not true or false"),
        (MixGrained, {"redraw": "never"}, "redraw: 'never' is not one of epoch, once"),
        (Training, {"lr": "0"}, "lr: 0.0 is not a positive number"),
        (Training, {"lr": "nan"}, "lr: nan is not a positive number"),
        (Training, {"weight_decay": -1}, "weight_decay: -1.0 is less than 0"),
        (Training, {"batch_size": 0}, "batch_size: 0 is less than 1"),
        (MixGrained, {"hops": 0}, "hops: 0 is less than 1"),
        (MixGrained, {"fine_norm": "row"}, "fine_norm: 'row' is not one of mean, symmetric, half"),
        (Training, {"input_dropout": 1}, "input_dropout: 1.0 is not in"),
        (Training, {"label_smoothing": -0.1}, "label_smoothing: -0.1 is not in"),
        (Training, {"consistency": -1}, "consistency: -1.0 is less than 0"),
        (Training, {"averaging": 1}, "averaging: 1.0 is not in"),
        (Training, {"draws": 0}, "draws: 0 is less than 1"),
        (Training, {"scaling": "tf-idf"}, "scaling: 'tf-idf' is not one of auto, row, root, tfidf, standard, none"),
    ],
)
def test_bad_values(kind: type, values: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        settings.build(kind, values)


def test_unknown_keys_name_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown setting 'pics'; did you mean picks"):
        resolve("mg-gcn", "cora", {"pics": 3})
    with pytest.raises(InputError, match=r"unknown setting 'zzz'; valid: .*batch_size.*weight_decay"):
        resolve("mg-gcn", "cora", {"zzz": 3})
    with pytest.raises(InputError, match="unknown method 'mg-gnc'; did you mean mg-gcn"):
        resolve("mg-gnc", "cora", {})


def test_words_are_split_once() -> None:
    assert settings.pairs(["a-b = c=d", "e="]) == {"a_b": "c=d", "e": ""}
    for bad in ("word", "=3"):
        with pytest.raises(InputError, match=f"settings: {bad!r} is not of the form key=value"):
            settings.pairs([bad])


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        ("cora", {"picks": 6, "hidden": 16, "lr": 0.01, "batch_size": 256, "scaling": "row", "weight_decay": 0.0}),
        ("citeseer:public", {"picks": 6, "hidden": 16}),
        ("pubmed", {"picks": 4, "patience": 30}),
        ("reddit", {"picks": 4, "hidden": 128, "lr": 0.0001, "scaling": "standard"}),
        ("ethereum", {"picks": 5, "batch_size": 128, "weight_decay": 0.0005}),
        ("my own", {"picks": 5, "scaling": "auto"}),
    ],
)
def test_the_papers_settings(dataset: str, expected: dict) -> None:
    resolved = resolve("mg-gcn", dataset, {}, preset="paper").settings
    assert {key: resolved[key] for key in expected} == expected


def test_overrides_win() -> None:
    assert resolve("mg-gcn", "cora", {"picks": 2}).method.picks == 2


@pytest.mark.parametrize("method", methods.METHODS.values(), ids=methods.METHODS)
def test_no_setting_has_two_homes(method: type[methods.Method]) -> None:
    assert not set(method.__dataclass_fields__) & set(Training.__dataclass_fields__)
