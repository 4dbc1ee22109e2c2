"""The worked example of the exact sampler: what one pick can do, and every sequence of picks with its probability."""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import cache

import numpy as np
from scipy.stats import chi2

from generate.example import SIX
from generate.repository import script
from mggcn.graph import Graph
from mggcn.kernels.pick import TRIALS, PickTable
from mggcn.keys import Key

PICKS, DRAWS = 3, 20_000
_STEP = (0, 1)

Sequence = tuple[int, ...]


def verdict(graph: Graph, chosen: Sequence, place: int, w: int) -> str:
    """Why a trial that came through the member at ``place`` to w is refused; empty where it is accepted."""
    if w in chosen:
        return f"{SIX.names[w]} is in S"
    earlier = [member for member in chosen[:place] if w in graph.row(member)]
    return f"{SIX.names[earlier[0]]}, which joined S before, neighbours {SIX.names[w]} too" if earlier else ""


def accepted(graph: Graph, chosen: Sequence) -> dict[int, int]:
    """The weight with which a trial ends in each candidate, out of all the pairs' weights together."""
    found: Counter[int] = Counter()
    for place, member in enumerate(chosen):
        for w in map(int, graph.row(member)):
            if not verdict(graph, chosen, place, w):
                found[w] += int(graph.degrees[w])
    return dict(found)


def by_rejection(graph: Graph, target: int, picks: int) -> dict[Sequence, Fraction]:
    """Every sequence of picks that trials can make, with its exact probability."""
    found: dict[Sequence, Fraction] = {(target,): Fraction(1)}
    for _ in range(picks):
        longer: dict[Sequence, Fraction] = {}
        for chosen, probability in found.items():
            weights = accepted(graph, chosen)
            for w, weight in weights.items():
                longer[(*chosen, w)] = probability * Fraction(weight, sum(weights.values()))
        found = longer
    return found


def one_pick() -> str:
    """The pairs that the second pick draws from when the first was a."""
    graph, lines, running = SIX.graph, ["| through | to | weight | running sum | outcome |"], 0
    lines.append("|---|---|---:|---:|---|")
    for place, member in enumerate(_STEP):
        for w in map(int, graph.row(member)):
            running += int(graph.degrees[w])
            why = verdict(graph, _STEP, place, w)
            outcome = f"refused: {why}" if why else "**accepted**"
            lines.append(f"| {SIX.names[member]} | {SIX.names[w]} | {graph.degrees[w]} | {running} | {outcome} |")
    weights = accepted(graph, _STEP)
    total = sum(weights.values())
    ends = ", ".join(f"{SIX.names[w]} with {weight}/{running}" for w, weight in weights.items())
    given = ", ".join(f"{SIX.names[w]} with {weight}/{total}" for w, weight in weights.items())
    law = ", ".join(f"{SIX.names[w]} with {_second_pick(w)}" for w in weights)
    refused = Fraction(running - total, running)
    lines += [
        "",
        f"A trial ends in {ends}, and in nothing with {running - total}/{running}. Given that it ends in something, "
        f"that is {given}. Algorithm 1 asks for: {law}.",
        "",
        f"All {TRIALS} trials of this pick fail with probability ({refused})<sup>{TRIALS}</sup>, about "
        f"{float(refused**TRIALS):.1e}.",
    ]
    return "\n".join(lines)


def all_sequences() -> str:
    """Every sequence: by Algorithm 1, by the rule above, and how often the kernel drew it; then the chi-square test."""
    law, rule, drawn = algorithm_1(), by_rejection(SIX.graph, 0, PICKS), kernel()
    if law != rule:
        raise ValueError("the trials do not follow Algorithm 1")
    lines = ["| picks | Algorithm 1 | by trials | expected | drawn |", "|---|---:|---:|---:|---:|"]
    for chosen in sorted(law, key=lambda one: (-law[one], one)):
        expected = float(law[chosen] * DRAWS)
        named = SIX.letters(list(chosen[1:]))
        lines.append(f"| {named} | {law[chosen]} | {rule[chosen]} | {expected:,.1f} | {drawn[chosen]:,} |")
    statistic, freedom, p = chi_square(law, drawn)
    lines += [
        "",
        f"{len(law)} sequences of {PICKS} picks, {DRAWS:,} draws of the compiled kernel. The two columns of fractions "
        f"are equal. χ² = {statistic:.2f} with {freedom} degrees of freedom: draws from Algorithm 1 itself would lie "
        f"further away with probability {p:.2f}.",
    ]
    return "\n".join(lines)


@cache
def algorithm_1() -> dict[Sequence, Fraction]:
    """The law, from the enumeration that the tests hold all kernels against."""
    found: dict[Sequence, Fraction] = script("tests/paper/algorithm1.py").sequences(
        SIX.graph, SIX.graph.degrees.tolist(), 0, PICKS
    )
    return found


@cache
def kernel() -> Counter[Sequence]:
    """How often the compiled kernel draws each sequence, a key for each draw."""
    table, target = PickTable.of(SIX.graph), np.array([0])
    rows = (table.draw(target, PICKS, Key.of(number), threads=1)[0] for number in range(DRAWS))
    return Counter(tuple(row.tolist()) for row in rows)


def chi_square(law: Mapping[Sequence, Fraction], drawn: Counter[Sequence]) -> tuple[float, int, float]:
    """The statistic, its degrees of freedom, and the probability of a larger one."""
    expected = {chosen: float(probability * drawn.total()) for chosen, probability in law.items()}
    statistic = sum((drawn[chosen] - count) ** 2 / count for chosen, count in expected.items())
    freedom = len(law) - 1
    return statistic, freedom, float(chi2.sf(statistic, freedom))


def _second_pick(w: int) -> Fraction:
    """Algorithm 1's probability of w after the first pick of the example."""
    law = algorithm_1()
    after = sum(p for chosen, p in law.items() if chosen[:2] == _STEP)
    return Fraction(sum(p for chosen, p in law.items() if chosen[:3] == (*_STEP, w)), after)
