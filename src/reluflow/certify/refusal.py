"""What the prover answers when it has no proof."""


class Refused(ArithmeticError):
    """No proof was found; a refusal is no disproof. `t` says where, `final` that more digits cannot help."""

    def __init__(self, reason: str, t: float | None = None, final: bool = False):
        self.reason, self.t, self.final = reason, t, final
        super().__init__(reason if t is None else f"At t = {t:.8g}: {reason}")
