"""Progress bars: in terminals and notebooks, by default only where a person is at work, and never elsewhere."""

import io
import sys
import types

import pytest

import reluflow as rf
from reluflow import _progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(_progress, "sys", types.SimpleNamespace(stderr=screen, modules={}))
    return screen


@pytest.fixture
def every_burst(monkeypatch):
    """A run tells its progress at every burst, so that the tests do not depend on time."""
    from reluflow.drive import loop

    monkeypatch.setattr(loop, "TELL_SECONDS", -1.0)
    monkeypatch.setattr(loop, "MOST", 1000)


def problem():
    return rf.Problem(rf.data.five_points(), rf.init.balanced(20, 2, log_scale=-5.0))


def descend(**more):
    return rf.solve(problem(), rf.Descent(1e-3, fast_forward=False), t1=100.0, **more)


def test_a_bar_that_was_asked_for_shows_the_share_done_and_is_removed_at_the_end(terminal, every_burst):
    descend(progress=True)
    text = terminal.getvalue()
    assert "%" in text and " steps" in text and "t = " in text
    assert text.endswith("\r\x1b[2K")
    # The cursor waits at the start of the line: a message that is logged meanwhile is not appended to the bar.
    assert all(shown.endswith("\r") for shown in text.split("\r\x1b[2K")[1:-1])


def test_a_script_prints_nothing_unless_asked(terminal, every_burst, monkeypatch, capsys):
    monkeypatch.setattr(_progress, "WAIT", 0.0)
    descend()
    descend(progress=False)
    assert terminal.getvalue() == "" and capsys.readouterr() == ("", "")


def test_a_file_gets_no_bar_even_when_asked(every_burst, capsys, monkeypatch):
    monkeypatch.setattr(_progress, "_shell", lambda: "")
    descend(progress=True)
    assert capsys.readouterr() == ("", "")


def test_at_the_prompt_a_bar_appears_after_two_seconds(terminal, every_burst, monkeypatch):
    _progress.sys.ps1 = ">>> "
    clock = iter([0.0, 1.9, 2.1, 2.2])
    monkeypatch.setattr(_progress.time, "perf_counter", lambda: next(clock))
    now = types.SimpleNamespace(fraction=0.5, log_t=0.0, steps=7)
    with _progress.shown(None, _progress.of_run) as tell:
        tell(now)
        assert terminal.getvalue() == ""
        tell(now)
        assert " 50%  t = 1, 7 steps  2 s, about 2 s left" in terminal.getvalue()


def test_a_notebook_gets_an_output_that_is_updated_and_emptied(monkeypatch, every_burst):
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html)

    display = types.ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda html, display_id: shown.append(html) or Handle()
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    descend(progress=True)
    assert len(shown) >= 2 and shown[-1] == "" and all("<progress" in html for html in shown[:-1])


def test_a_function_is_called_as_before(every_burst):
    seen = []
    descend(progress=seen.append)
    assert seen and all(0 <= p.fraction <= 1 for p in seen)


def test_sweeps_and_deep_networks_show_the_same_bar(terminal):
    experiment = rf.Experiment(data={"kind": "two_points"}, init={"kind": "balanced", "width": 4})
    rf.sweep(experiment, over={"init.seed": [0, 1, 2]}, workers=0, progress=True)
    assert "3 of 3 points" in terminal.getvalue()
    network = rf.deep.init((2, 3, 1), std=0.1)
    rf.deep.train(network, rf.data.two_points(), step=1e-2, iterations=10, progress=True)
    assert "10 of 10 iterations" in terminal.getvalue()


@pytest.mark.parametrize(("seconds", "text"), [(4.4, "4 s"), (61.0, "1:01"), (7265.0, "2:01:05")])
def test_durations_read_as_clocks(seconds, text):
    assert _progress.duration(seconds) == text
