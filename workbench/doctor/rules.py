"""All that the doctor knows: symptom, cause, remedy, source. How it is seen is elsewhere.

``machine_checks.py`` sees the machine's, ``run_checks.py`` a training's; a log is searched for the
patterns that stand here, in this order: the root of a fault before what follows from it.
"""

from __future__ import annotations

from workbench.doctor.findings import Finding, Rule

# --- The machine -------------------------------------------------------------------------------
MACHINE: tuple[Rule, ...] = ()

# --- A training's output folder ----------------------------------------------------------------
RUN: tuple[Rule, ...] = ()

# --- Logs: the host and its engine, then the container, the libraries, the program --------------
LOG: tuple[Rule, ...] = ()

RULES = {rule.id: rule for rule in (*MACHINE, *RUN, *LOG)}


def found(rule_id: str, evidence: str) -> Finding:
    """Return the finding of the rule with this id, with the ``evidence`` that was seen."""
    rule = RULES[rule_id]
    return Finding(
        rule.id, rule.level, rule.symptom, evidence, rule.cause, rule.remedy, rule.source
    )
