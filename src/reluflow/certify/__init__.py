"""Runs that are theorems: one gradient flow, its events and its limit, proved in ball arithmetic."""

from typing import TYPE_CHECKING

from reluflow._lazy import lazily

_NAMES = {"certify": "prove", "Certificate": "certificate", "Refused": "refusal"}

__all__ = ["Certificate", "Refused", "certify"]

lazily(__name__, _NAMES)

if TYPE_CHECKING:
    from reluflow.certify.certificate import Certificate as Certificate
    from reluflow.certify.prove import certify as certify
    from reluflow.certify.refusal import Refused as Refused
