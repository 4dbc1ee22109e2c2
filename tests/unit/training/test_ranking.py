"""Metrics of ranking nodes by the probability of a class."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from mggcn.training import _metrics as ranking
from mggcn.training._metrics import Ranked


@pytest.mark.parametrize("levels", [3, 1_000_000])
def test_areas_are_scikit_learns(levels: int) -> None:
    rng = np.random.default_rng(levels)
    for _ in range(20):
        p, is_member = rng.integers(0, levels, 50) / levels, rng.random(50) < 0.3
        assert Ranked(p, is_member).pr_auc() == pytest.approx(average_precision_score(is_member, p))
        assert Ranked(p, is_member).roc_auc() == pytest.approx(roc_auc_score(is_member, p))


def test_areas_that_are_not_defined() -> None:
    p, none = np.array([0.5, 0.25]), np.zeros(2, bool)
    assert Ranked(p, none).pr_auc() is None
    assert Ranked(p, none).roc_auc() is None
    assert Ranked(p, ~none).pr_auc() == 1
    assert Ranked(p, ~none).roc_auc() is None


def test_precision_at_k_is_the_mean_over_orders_of_equal_nodes() -> None:
    p, is_member = np.array([0.9, 0.5, 0.5, 0.5, 0.1]), np.array([True, True, False, False, True])
    ks = np.array([1, 2, 3, 4, 5])
    rng, seen = np.random.default_rng(0), []
    for _ in range(4000):
        order = rng.permutation(5)
        ranked = is_member[order][np.argsort(-p[order], kind="stable")]
        seen.append(np.cumsum(ranked) / ks)
    found = Ranked(p, is_member).precision_at(ks)
    np.testing.assert_allclose(found, [1, 2 / 3, 5 / 9, 0.5, 0.6])
    np.testing.assert_allclose(found, np.mean(seen, axis=0), atol=0.02)


def test_ks() -> None:
    assert ranking.ks_of(60).tolist() == [1, 2, 5, 10, 20, 50]
    assert ranking.ks_of(1).tolist() == [1]


def test_a_threshold_is_the_lowest_probability_with_the_required_precision() -> None:
    rng = np.random.default_rng(1)
    p = rng.integers(0, 30, 200) / 30
    is_member = rng.random(200) < p
    for required in (0.6, 0.8, 0.9):
        wanted = [t for t in np.unique(p) if is_member[p >= t].mean() >= required]
        assert Ranked(p, is_member).threshold_for(required) == min(wanted)
    assert Ranked(p, np.zeros(200, bool)).threshold_for(0.5) is None


def test_alerts_are_counted_with_thresholds_of_the_validation_nodes() -> None:
    val = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    test = np.array([[0.85, 0.15], [0.95, 0.05], [0.2, 0.8], [0.7, 0.3]])
    (found,) = (
        alerts
        for alerts in ranking.ranking_of(val, np.array([0, 0, 0]), test, np.array([0, 1, 0, 0])).alerts
        if alerts.required == 0.9
    )
    assert found.thresholds == [0.3, None]
    assert (found.val, found.test, found.correct) == ([3, 0], [3, 0], [2, 0])
    whole = ranking.ranking_of(val, np.array([0, 0, 1]), test, np.array([0, 1, 0, 0]))
    whole.check(2)
    assert whole.ks == [1, 2]
    assert whole.precision_at[0] == [0, 0.5]
    assert [one.required for one in whole.alerts] == list(ranking.REQUIRED)


def test_a_threshold_for_a_base_rate_has_the_precision_on_a_sample_with_that_share() -> None:
    rng = np.random.default_rng(2)
    is_member = np.arange(2000) < 1000
    p = rng.normal(is_member * 2.0).round(1)
    p = 1 / (1 + np.exp(-p))
    ranked = Ranked(p, is_member)
    for required, base_rate in ((0.5, 0.1), (0.8, 0.1), (0.5, 0.02)):
        kept = int(1000 * base_rate / (1 - base_rate) * 1000)  # copies: 1,000 of every other node
        population = np.repeat(p, np.where(is_member, kept // 1000, 1000))
        members = np.repeat(is_member, np.where(is_member, kept // 1000, 1000))
        rate = members.mean()
        wanted = [t for t in np.unique(p) if members[population >= t].mean() >= required]
        assert ranked.threshold_for(required, rate) == min(wanted)
        assert ranked.threshold_for(required, rate) > ranked.threshold_for(required)
    assert ranked.threshold_for(0.5, 0.5) == ranked.threshold_for(0.5), "the share that was measured"
    assert Ranked(p[:10], is_member[:10]).threshold_for(0.5, 0.01) is None, "nothing is known of other nodes"


def test_the_precision_at_a_base_rate_is_bayes_rule() -> None:
    # 80 of 100 members and 10 of 200 others raise an alert; of 10,000 nodes with 1 % members that is 80 and 495
    found = ranking.precision_at_rate(np.array([80]), np.array([90]), 100, 300, 0.01)
    np.testing.assert_allclose(found, 80 / (80 + 495))
    assert np.isnan(ranking.precision_at_rate(np.array([0]), np.array([0]), 100, 300, 0.01)).all()


def test_probabilities_at_a_base_rate_are_those_of_a_resampled_population() -> None:
    rng = np.random.default_rng(3)
    is_member = rng.random(400_000) < 0.5
    x = rng.normal(is_member * 1.0)
    at_half = 1 / (1 + np.exp(-(x - 0.5)))  # by the two normal densities
    kept = ~is_member | (rng.random(x.size) < 0.1)
    share = is_member[kept].mean()
    expected = ranking.probabilities_at_rate(at_half[kept], 0.5, float(share))
    bins = np.digitize(expected, np.quantile(expected, np.linspace(0, 1, 11)[1:-1]))
    for number in range(10):
        assert expected[bins == number].mean() == pytest.approx(is_member[kept][bins == number].mean(), abs=0.01)
    np.testing.assert_allclose(ranking.probabilities_at_rate(at_half, 0.3, 0.3), at_half)
