"""Choices of modifiers in which every two that may stand together do so at least once."""

from itertools import combinations, product


def covering(dimensions, valid, random, open_dimensions=()):
    """Some of the valid choices, a value for each dimension, with nearly all pairs of values that a valid choice has.

    The first value of a dimension is the plain one. A pair is completed at random, or else by plain values with
    every one of the `open_dimensions`.
    """
    names = list(dimensions)
    pairs_of = lambda choice: {(one, choice[one], two, choice[two]) for one, two in combinations(names, 2)}
    done, taken = set(), []
    for one, two in combinations(names, 2):
        for first, second in product(dimensions[one], dimensions[two]):
            if (one, first, two, second) in done:
                continue
            fixed = {one: first, two: second}
            some = [{name: random.choice(values) for name, values in dimensions.items()} | fixed for _ in range(12)]
            found = [choice for choice in some if valid(**choice)]
            if not found:
                free = [name for name in open_dimensions if name not in fixed]
                plain = {name: values[0] for name, values in dimensions.items()} | fixed
                rest = [plain | dict(zip(free, values)) for values in product(*(dimensions[name] for name in free))]
                found = [choice for choice in rest if valid(**choice)]
                random.shuffle(found)
            if found:
                best = max(found[:12], key=lambda choice: len(pairs_of(choice) - done))
                taken.append(best)
                done |= pairs_of(best)
    return taken
