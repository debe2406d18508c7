"""The coverage pages name checks and figures that exist, every check is in them, and nothing is left unexplained."""

import importlib

import pytest

import reluflow as rf
from reluflow.papers import _figures

PAPERS = ("boursier2022", "kou2023", "lee2023", "min2024")


def coverage(paper):
    return importlib.import_module(f"reluflow.papers.{paper}._coverage").COVERAGE


@pytest.mark.parametrize("paper", PAPERS)
def test_every_statement_is_looked_at_or_explained_and_names_exist(paper):
    checks = {c.name for c in rf.checks()}
    figures = {f"{paper}.{f}" for f in _figures.names(paper)} | {f"{paper}.{f}" for f in _figures.names("extra")}
    for statement in coverage(paper):
        assert statement.by or len(statement.reason) > 20, statement.name
        for name in statement.by:
            full = name if "." in name else f"{paper}.{name}"
            assert full in checks | figures, (statement.name, name)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_check_and_figure_is_named_by_a_statement(paper):
    named = {name for s in coverage(paper) for name in s.by}
    mine = {c.name.split(".")[1] for c in rf.checks(paper)} | set(_figures.names(paper))
    assert mine - named == set()


@pytest.mark.parametrize("paper", PAPERS)
def test_statements_are_listed_once(paper):
    names = [s.name for s in coverage(paper)]
    assert len(names) == len(set(names))
