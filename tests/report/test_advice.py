from pfgnn.report.advice import advise


def test_without_pairs_nothing_is_needed() -> None:
    advice = advise(0, {}, 37)
    assert (advice.needed, advice.steps, advice.enough) == (False, 1, True)
    assert (advice.particles, advice.test_particles, advice.exact) == (16, 37, True)


def test_the_least_t_that_tells_all_pairs_apart() -> None:
    assert advise(9, {1: (9, 9)}, 20).steps == 1
    advice = advise(9, {1: (8, 9), 2: (9, 9)}, 40)
    assert (advice.steps, advice.enough, advice.test_particles, advice.exact) == (2, True, 128, False)


def test_it_says_if_no_t_is_known_to_be_enough() -> None:
    assert not advise(9, {1: (0, 9), 2: (3, 9), 3: (8, 9)}, 20).enough
    assert not advise(9, {1: (0, 9), 2: (3, 3)}, 20).enough  # only three could be tried
    assert not advise(9, {}, 20).enough  # the graphs are too large


def test_what_it_costs() -> None:
    """One layer before the mark and four after it: 1 + 4 K against 5."""
    assert advise(1, {1: (1, 1)}, 100).cost == 65 / 5
    assert advise(1, {1: (1, 1)}, 1).cost == 1
