"""The result of a seed, in words."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.verifying.findings import Finding, told


@dataclass
class Verdict:
    """The result of a seed."""

    seed: int
    form: str
    findings: list[Finding]
    injected: Counter[str]
    acknowledged: Counter[str]
    statuses: Counter[int]
    seconds: float
    converged_s: float
    submissions: int
    restarts: int
    log_tails: dict[str, str] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        return not self.findings

    def line(self) -> str:
        """Return a summary line; if the seed failed, with the command that repeats it."""
        acknowledged = sum(self.acknowledged.values())
        said = f"seed {self.seed} ({self.form}): {acknowledged} acknowledged, {sum(self.injected.values())} faults"
        said += f", {self.restarts} restarts, {self.seconds:.1f} s (converged in {self.converged_s:.1f} s)"
        if self.good:
            return f"ok   {said}"
        return f"FAIL {said}: {told(self.findings)}\n     again: make faults SEEDS=1 FIRST_SEED={self.seed}"


def logs_of(verdict: Verdict, folder: Path) -> None:
    """Write the last log lines of the services into `folder`."""
    for name, said in verdict.log_tails.items():
        (folder / f"seed-{verdict.seed}-{name}.log").write_text(said, encoding="utf-8")
