"""Products with kernel matrices, counted."""

import numpy as np

from okl.operators import Dense, counted_products


def test_products_of_a_context_are_counted():
    operator = Dense(np.eye(4))
    right = np.ones((4, 3))
    operator @ right
    with counted_products() as outer:
        operator @ right
        with counted_products() as inner:
            operator.restrict(np.arange(2)) @ right[:2]
            operator.centered()[0] @ right
    operator @ right
    assert (outer.total, inner.total) == (3, 2)
