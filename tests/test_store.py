"""Runs on disk: whole or not there, and sentences for everything that is not a run."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import reluflow as rf

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def sol():
    problem = rf.Problem(rf.data.random_points(3, 5, seed=1), rf.init.balanced(8, 5, log_scale=-3.0, seed=0))
    return rf.solve(problem, rf.Flow(rtol=1e-6), t1=20.0)


@pytest.fixture(scope="module")
def saved(sol, tmp_path_factory):
    return sol.save(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def run(saved, tmp_path):
    return Path(shutil.copytree(saved, tmp_path / "run"))


def test_a_run_says_what_it_is(saved):
    attributes = json.loads((saved / "zarr.json").read_text())["attributes"]
    assert attributes["reluflow"] == {"format": 1, "what": "run"}
    assert {"experiment", "versions", "problem", "method", "outcome", "stats", "manifest"} <= set(attributes)
    assert attributes["versions"]["reluflow"] == rf.__version__
    assert {"data/x", "data/y", "init/w", "init/a", "checkpoints/q"} <= set(attributes["manifest"])


def test_other_programs_can_read_it(saved, sol):
    import xarray as xr

    frames = xr.open_zarr(saved, group="frames", consolidated=False)
    np.testing.assert_array_equal(frames.log_loss, sol.log_loss)
    assert frames.outputs.dims == ("frame", "datum")


def test_labelled_arrays(sol):
    ds = sol.to_xarray()
    assert dict(ds.sizes) == {"frame": len(sol.log_t), "neuron": 8, "datum": 3, "feature": 5, "event": len(sol.events)}
    np.testing.assert_array_equal(ds.log_t, sol.log_t)
    assert ds.w.dims == ("frame", "neuron", "feature")
    names = ds.event_kind.attrs["flag_meanings"].split()
    assert [names[k] for k in ds.event_kind.values] == list(sol.events.kind)


@pytest.mark.parametrize("loss", ["square", "exponential"])
def test_a_stepped_run_comes_back_able_to_do_all_it_could(tmp_path, loss):
    x = np.random.default_rng(3).normal(size=(40, 5))
    x[:, 2], x[7] = 0.0, 0.0  # a column and a row that the flow leaves out
    data = rf.Data(x, np.where(np.arange(40) % 2, 1.0, -1.0))
    problem = rf.Problem(data, rf.init.balanced(12, 5, log_scale=-1.0, seed=0), loss=loss)
    sol = rf.solve(problem, rf.SteppedFlow(rtol=1e-3), t1=2.0, save=rf.Save(frames=30))
    t = np.linspace(0.0, 2.0, 23)
    back = rf.load(sol.save(tmp_path / "run"))
    assert back.method == sol.method and repr(back) == repr(sol) and repr(back.stats) == repr(sol.stats)
    for name in ("log_t", "log_loss", "outputs", "w", "a", "log_scale"):
        np.testing.assert_array_equal(getattr(back, name), getattr(sol, name), err_msg=name)
    np.testing.assert_array_equal(back.outputs_at(t), sol.outputs_at(t))
    np.testing.assert_array_equal(back.bits_at(t), sol.bits_at(t))
    again = rf.load(back.save(tmp_path / "again"))  # a run that was loaded is saved like any other
    np.testing.assert_array_equal(again.outputs_at(t), sol.outputs_at(t))
    asked = rf.solve(problem, sol.method, t1=2.0, save=rf.Save(times=t))
    np.testing.assert_array_equal(rf.load(asked.save(tmp_path / "asked")).outputs, asked.outputs)


def test_a_run_is_never_written_over(saved, sol, tmp_path):
    with pytest.raises(FileExistsError, match="already exists: choose another path"):
        sol.save(saved)
    (tmp_path / "empty").mkdir()
    assert repr(rf.load(sol.save(tmp_path / "empty"))) == repr(sol)
    assert repr(rf.load(sol.save(tmp_path / "new" / "deep" / "run"))) == repr(sol)


def test_a_run_loads_where_the_basis_is_computed_differently(run, sol, monkeypatch):
    # Another LAPACK may turn the basis of the data's span: stored states are carried over, to rounding.
    from reluflow.engine import pack

    plain, turn = pack.reduced_basis, np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    monkeypatch.setattr(pack, "reduced_basis", lambda e, gram: np.ascontiguousarray(turn @ plain(e, gram)))
    loaded = rf.load(run)
    np.testing.assert_allclose(loaded.log_loss, sol.log_loss, rtol=1e-12)
    np.testing.assert_allclose(loaded.w, sol.w, atol=1e-13)
    t = np.linspace(0, 20, 9)
    np.testing.assert_allclose(loaded.outputs_at(t), sol.outputs_at(t), atol=1e-8)


def chunk_of(run: Path) -> Path:
    return next(p for p in (run / "checkpoints" / "q" / "c").rglob("*") if p.is_file())


def corrupt(run: Path, how: str) -> Path:
    chunk = chunk_of(run)
    meta = run / "zarr.json"
    if how == "flipped byte":
        content = bytearray(chunk.read_bytes())
        content[len(content) // 2] ^= 0xFF
        chunk.write_bytes(content)
    elif how == "truncated":
        chunk.write_bytes(chunk.read_bytes()[:-7])
    elif how == "missing chunk":
        chunk.unlink()
    elif how == "missing array":
        shutil.rmtree(run / "init" / "a")
    elif how == "broken json":
        meta.write_text(meta.read_text()[: len(meta.read_text()) // 2])
    elif how == "no zarr.json":
        meta.unlink()
    elif how == "newer":
        meta.write_text(meta.read_text().replace('"format": 1', '"format": 7'))
    elif how == "foreign":
        import zarr

        shutil.rmtree(run)
        zarr.open_group(str(run), mode="w", attributes={"title": "ocean"})
    elif how == "half-written":
        run = run.rename(run.with_name(".run.1-2.part"))
    elif how == "nothing":
        shutil.rmtree(run)
    elif how == "no checkpoints in the manifest":
        whole = json.loads(meta.read_text())
        del whole["attributes"]["manifest"]["checkpoints/q"]
        meta.write_text(json.dumps(whole))
    return run


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("flipped byte", r"must be a complete run, got `checkpoints/q` damaged or cut short: restore a copy"),
        ("truncated", r"must be a complete run, got `checkpoints/q` damaged or cut short"),
        ("missing chunk", r"must be a complete run, got `checkpoints/q` damaged or cut short"),
        ("missing array", r"must be a complete run, got `init/a` damaged or cut short"),
        ("broken json", r"must be a complete run, got a damaged `zarr.json`"),
        ("no zarr.json", r"is not a run folder, it has no `zarr.json`"),
        ("newer", r"must have a format up to 1, got 7 \(reluflow .*\): install a newer reluflow"),
        ("foreign", r"is not a reluflow run"),
        ("half-written", r"is incomplete"),
        ("nothing", r"Run folder not found: "),
        ("no checkpoints in the manifest", r"must be a complete run, got attributes that were changed"),
    ],
)
def test_what_is_not_a_whole_run_is_one_sentence(run, how, sentence):
    run = corrupt(run, how)
    with pytest.raises((ValueError, FileNotFoundError), match=sentence) as caught:
        rf.load(run)
    assert "\n" not in str(caught.value)


def test_every_damaged_byte_of_a_chunk_is_noticed(run):
    chunk = chunk_of(run)
    content = chunk.read_bytes()
    for at in np.random.default_rng(0).choice(len(content), size=12, replace=False):
        damaged = bytearray(content)
        damaged[at] ^= 1 << int(at) % 8
        chunk.write_bytes(damaged)
        try:
            rf.load(run)  # a byte that the codec ignores gives the same numbers, and they are checked
        except ValueError as error:
            assert "damaged" in str(error)
    chunk.write_bytes(content)
    rf.load(run)


@pytest.mark.parametrize("name", sorted(p.name for p in GOLDEN.iterdir() if p.is_dir() and (p / "zarr.json").is_file()))
def test_golden_runs_of_every_format_load(name):
    loaded = rf.load(GOLDEN / name)
    expected = json.loads((GOLDEN / f"{name}.json").read_text())
    assert loaded.experiment.key == expected["key"]
    np.testing.assert_allclose(loaded.log_loss, expected["log_loss"], rtol=1e-12)
    # Replay goes through today's kernels: right to the run's own promise, not to the last bit.
    np.testing.assert_allclose(loaded.outputs_at(expected["t"]), expected["outputs_at"], atol=1e-5)
    assert loaded.events.counts() == expected["events"]
    assert loaded.outcome.name == expected["outcome"]


# Saving that is cut short ---------------------------------------------------------------------------------------------

# Imports everything once, then forks a child per line. A child saves two runs in a folder of its own, announces
# each, and kills itself when it touches the disk for the so-many-th time (0: never; it then says how often it did).
SAVER = """
import os, signal, sys
import numpy, zarr
import reluflow as rf
problem = rf.Problem(rf.data.five_points(), rf.init.balanced(30, 2, log_scale=-3.0, seed=0))
sol = rf.solve(problem, rf.Flow(rtol=1e-6), t1=30.0)
sol.log_loss, sol.outputs
sol.save(os.path.join(sys.argv[1], "first"))
touched, last = 0, 0
def watch(event, arguments):
    global touched
    if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.listdir", "os.scandir"):
        touched += 1
        if touched == last:
            os.kill(os.getpid(), signal.SIGKILL)
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        name, last = line.split()[0], int(line.split()[1])
        os.mkdir(os.path.join(sys.argv[1], name))
        sys.addaudithook(watch)
        for k in range(2):
            path = sol.save(os.path.join(sys.argv[1], name, f"run-{k}"))
            os.write(1, f"{path}\\n".encode())
        if last == 0:
            os.write(1, f"touched {touched}\\n".encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.write(1, b"dead\\n")
"""


def killed_while_saving(folder: Path, rounds: int) -> tuple[list[str], int]:
    """(announced runs, half-written folders) after that many savers were killed, at moments spread over their work."""
    command = [sys.executable, "-W", "ignore", "-c", SAVER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as saver:

        def save(name: str, last: int) -> list[str]:
            saver.stdin.write(f"{name} {last}\n")
            saver.stdin.flush()
            return list(iter(lambda: saver.stdout.readline().strip(), "dead"))

        assert saver.stdout is not None and saver.stdin is not None
        assert saver.stdout.readline() == "ready\n"
        *announced, touched = save("whole", 0)
        assert len(announced) == 2
        for k, last in enumerate(np.linspace(1, int(touched.split()[1]), rounds).astype(int)):
            announced += save(str(k), int(last))
        saver.stdin.close()
    return announced, sum(p.name.endswith(".part") for p in folder.glob("*/*"))


def check_kills(folder: Path, rounds: int) -> None:
    announced, half = killed_while_saving(folder, rounds)
    losses = set()
    for path in folder.glob("*/*run*"):
        if path.name.endswith(".part"):
            with pytest.raises(ValueError, match="is incomplete"):
                rf.load(path)
            # Not because of its name alone: without attributes it is no run, and with them it is whole.
            other = path.rename(path.with_name(path.name.strip(".").removesuffix(".part")))
            try:
                losses.add(float(rf.load(other).log_loss[-1]))
            except ValueError as error:
                assert " not a " in str(error) or "must be a complete run" in str(error)
            shutil.rmtree(other)
        else:
            losses.add(float(rf.load(path).log_loss[-1]))
    assert all(Path(path).is_dir() for path in announced)
    assert len(losses) <= 1  # whatever loads is the whole run
    assert half >= rounds // 2, "most kills must fall into a save"


def test_a_kill_while_saving_loses_nothing_announced(tmp_path):
    check_kills(tmp_path, 6)


@pytest.mark.exhaustive
def test_a_hundred_kills_while_saving_lose_nothing_announced(tmp_path):
    check_kills(tmp_path, 100)


@contextmanager
def mounted(folder: Path, options: str):
    """A small tmpfs; skips where mounting is not allowed."""
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_a_sentence_and_leaves_nothing(sol, tmp_path):
    with mounted(tmp_path, "size=128k") as folder:
        with pytest.raises(
            OSError, match=r"Cannot write to .* \(no space left on device\): free disk space.*Nothing was written"
        ):
            sol.save(folder / "run")
        assert list(folder.iterdir()) == []


def test_a_read_only_folder_is_a_sentence_and_leaves_nothing(sol, tmp_path):
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        with pytest.raises(OSError, match=r"Cannot write to .* \(permission denied\)"):
            sol.save(tmp_path / "run")
        tmp_path.chmod(0o700)
    else:
        with mounted(tmp_path, "size=1m,ro") as folder:
            with pytest.raises(OSError, match=r"Cannot write to .* \(read-only file system\)"):
                sol.save(folder / "run")
            assert list(folder.iterdir()) == []


def test_a_failure_half_way_leaves_nothing(sol, tmp_path, monkeypatch):
    from reluflow import store

    def fail(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "_sync", fail)
    with pytest.raises(OSError, match="no space left on device"):
        sol.save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_save_left_is_removed_by_the_next_and_what_is_at_work_is_not(sol, tmp_path):
    from reluflow import store

    left, foreign = tmp_path / ".run.4711-0123abcd.part", tmp_path / ".download.part"
    for folder in (left, foreign):
        (folder / "q").mkdir(parents=True)
        (folder / "q" / "0").write_bytes(b"half")
    with store.beside(tmp_path / "slow") as part:  # another save, under way
        (part / "zarr.json").write_text("{")
        sol.save(tmp_path / "run")
        assert not left.exists()
        assert foreign.exists() and (part / "zarr.json").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == [".download.part", "run"]


def test_a_new_folder_taken_for_a_leftover_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    from reluflow import store

    real, met = store._locked, []

    def late(folder, wait):
        if wait and not met:
            met.append(folder)
            store.clear(tmp_path)  # another process, in the moment between
        return real(folder, wait)

    monkeypatch.setattr(store, "_locked", late)
    with store.beside(tmp_path / "run") as part:
        assert part.exists() and part != met[0] and not met[0].exists()


def test_of_two_saves_to_one_path_the_second_is_told(sol, tmp_path, monkeypatch):
    from reluflow import store

    plain = store._write

    def slowly(part, *parts):
        plain(part, *parts)
        with monkeypatch.context() as patch:
            patch.setattr(store, "_write", plain)
            sol.save(tmp_path / "run")

    monkeypatch.setattr(store, "_write", slowly)
    with pytest.raises(FileExistsError, match="another run was saved there meanwhile; choose another path"):
        sol.save(tmp_path / "run")
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
    assert repr(rf.load(tmp_path / "run")) == repr(sol)


def test_a_sweeps_folder_is_told_from_a_run(tmp_path):
    (tmp_path / "experiment.json").write_text("{}")
    with pytest.raises(ValueError, match=r"is the folder of a sweep, not of a run: open it with `load`"):
        rf.load(tmp_path)
    from reluflow.sweep import load

    assert callable(load)
